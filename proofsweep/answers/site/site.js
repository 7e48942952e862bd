"use strict";
// Finds files in the data of the site, which are scripts that call `proofsweep`: pages may load nothing else from a
// folder without a server. What others wrote is only ever put into text nodes.
(() => {
  const PAGE = 10, MOST_WORDS = 8, LONGEST_WORD = 40;
  const STATES = {
    accepted: "Accepted", rejected: "Rejected", failed: "No answer", ineligible: "Cannot be sent",
    not_sent: "Not sent yet", gone: "No longer in the catalog", moved: "Moved",
  };
  const arrived = new Map(), requested = new Map();
  let index = null;

  window.proofsweep = (kind, ...rest) => {
    if (kind === "index") index = rest[0];
    else arrived.set(`${kind[0]}${rest[1]} ${rest[0]}`, rest[2]);
  };

  const load = (level, shard) => {
    const name = `${shard} ${level.name}`;
    if (!requested.has(name)) requested.set(name, new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `files/${level.name}/${shard}.js`;
      script.onload = () => arrived.has(name) ? resolve(arrived.get(name)) : reject(new Error(name));
      script.onerror = () => reject(new Error(name));
      document.head.append(script);
    }));
    return requested.get(name);
  };

  // The same as the data were made with: lower case, no accents, letters and digits.
  const plain = text => text.toLowerCase().normalize("NFD").replace(/\p{M}+/gu, "").normalize("NFC");
  const cut = word => [...word].slice(0, LONGEST_WORD).join("");
  const wordsOf = text => (plain(text).match(/[\p{L}\p{N}]+/gu) ?? []).map(cut);
  const codeOf = text => plain(text).replace(/[^\p{L}\p{N}]+/gu, "");
  // Words are sorted by code points; JavaScript compares parts of them.
  const isAfter = (one, other) => {
    const a = [...one], b = [...other], at = a.findIndex((char, place) => char !== b[place]);
    return at >= 0 && (at >= b.length || a[at].codePointAt(0) > b[at].codePointAt(0));
  };

  // The files that have a word which begins so; `isMany` if they are too many to be listed.
  const idsIn = async (level, word, isWhole) => {
    let first = level.words.findIndex(each => isAfter(each, word)) - 1;
    if (first < -1) first = level.words.length - 1;
    const shards = [Math.max(first, 0)];
    while (!isWhole && level.words[shards.at(-1) + 1]?.startsWith(word)) shards.push(shards.at(-1) + 1);
    if (shards.length > 3) return {ids: [], isMany: true};
    const entries = (await Promise.all(shards.map(shard => load(level, `w${shard}`)))).flat();
    const found = entries.filter(([each]) => isWhole ? each === word : each.startsWith(word));
    return {ids: found.flatMap(([, , ids]) => ids.match(/.{14}/g) ?? []), isMany: found.some(([, files, ids]) => files && !ids)};
  };
  const idsOf = async (word, isWhole) => {
    const found = await Promise.all(index.levels.filter(level => level.words.length).map(each => idsIn(each, word, isWhole)));
    return {ids: new Set(found.flatMap(each => each.ids)), isMany: found.some(each => each.isMany)};
  };

  const recordOf = async id => {
    const shard = level => `r${level.bits ? parseInt(id.slice(0, 8), 16) >>> (32 - level.bits) : 0}`;
    const found = (await Promise.all(index.levels.map(level => load(level, shard(level))))).map(shard => shard[id]);
    const [, payload] = found.filter(Boolean).sort(([one], [other]) => other - one)[0] ?? [];
    if (!payload) return null;
    const [file, catalog, state, isCurrent, movedTo, why, advice, detail, song, proof, issued, run, answered, request,
      tags, history] = payload;
    return {file, catalog, state, isCurrent, movedTo, why, advice, detail, song, proof, issued, run, answered, request,
      tags: tags ?? {}, history: history ?? []};
  };
  const textsOf = record => [record.file, record.song ?? "", ...Object.values(record.tags).map(String)];
  const holds = (record, words, code) => {
    const texts = textsOf(record), own = texts.flatMap(wordsOf);
    return texts.some(text => code && codeOf(text).includes(code)) || words.every(word => own.some(each => each.startsWith(word)));
  };

  // What may be found: whole codes first, also written with separators; else the files that have all words.
  const candidates = async (words, code) => {
    if (code) {
      const {ids} = await idsOf(code, true);
      if (ids.size) return [...ids];
    }
    const sets = await Promise.all(words.map(word => idsOf(word, false)));
    const few = sets.filter(each => !each.isMany).map(each => each.ids).sort((a, b) => a.size - b.size);
    return few.length ? [...few[0]].filter(id => few.every(ids => ids.has(id))) : null;
  };

  const make = (name, text, ...children) => {
    const node = document.createElement(name);
    if (text != null) node.textContent = visible(String(text));
    node.append(...children);
    return node;
  };
  // A character that is not seen, or that moves what is seen, is written as an escape.
  const visible = text => text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, char =>
    "\u200c\u200d".includes(char) ? char : `\\u{${char.codePointAt(0).toString(16)}}`);
  const night = run => {
    const date = `${run.slice(0, 4)}-${run.slice(4, 6)}-${run.slice(6, 8)}`;
    if (!index.nights.includes(run)) return make("span", date);
    const link = make("a", date);
    link.href = `nights/${run}.html`;
    return link;
  };
  const stateOf = record => {
    const words = make("p", STATES[record.state] ?? record.state);
    words.className = record.state === "accepted" ? "accepted" : "attention";
    if (record.movedTo) words.append(` to ${visible(record.movedTo)}`);
    if (!record.isCurrent && ["accepted", "rejected"].includes(record.state))
      words.append(" (the answer is of an earlier version of the file)");
    return words;
  };
  const factsOf = record => {
    const facts = [["Why", record.why], ["Detail", record.detail], ["What to do", record.advice], ["Song", record.song],
      ...Object.entries(record.tags).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
      ["Proof ID", record.proof], ["Issued", record.issued && `${record.issued} UTC`],
      ["Last answer", record.answered && `${record.answered} UTC`], ["Request ID of the last answer", record.request],
      ["Catalog", record.catalog]];
    return make("dl", null, ...facts.filter(([, value]) => value != null && value !== "")
      .flatMap(([name, value]) => [make("dt", name), make("dd", value)]));
  };
  const historyOf = record => {
    const head = ["Night", "Answer", "Request IDs (uploads, verify)"].map(name => Object.assign(make("th", name), {scope: "col"}));
    const rows = record.history.toReversed().map(([run, at, outcome, why, uploads, verify]) => make("tr", null,
      Object.assign(make("td", null, night(run)), {title: `${at} UTC`}),
      make("td", [STATES[outcome] ?? outcome, why].filter(Boolean).join(": ")),
      make("td", [uploads, verify].filter(Boolean).join(", "))));
    const table = make("table", null, make("caption", "History: nights in which the answer changed, and the last one"),
      make("thead", null, make("tr", null, ...head)), make("tbody", null, ...rows));
    table.className = "plain";
    return make("div", null, table);
  };
  const show = record => {
    const parts = [make("h2", record.file), stateOf(record), factsOf(record)];
    return make("article", null, ...parts, ...(record.history.length ? [historyOf(record)] : []));
  };

  const start = () => {
    const [status, files, more] = ["found", "files", "more"].map(id => document.getElementById(id));
    let turn = 0;
    const find = async text => {
      const mine = ++turn, words = [...new Set(wordsOf(text))].slice(0, MOST_WORDS), joined = codeOf(text);
      const code = /[0-9]/.test(joined) && joined.length >= 4 && joined.length <= LONGEST_WORD ? joined : "";
      files.replaceChildren();
      more.hidden = true;
      if (!words.length) { status.textContent = "Type a name, an ISRC, a UPC or a release."; return; }
      status.textContent = "Looking …";
      const ids = await candidates(words, code);
      if (mine !== turn) return;
      if (ids === null) { status.textContent = "Very many files have these words: add another one."; return; }
      let at = 0, shown = 0;
      const next = async () => {
        more.hidden = true;
        const until = shown + PAGE;
        while (at < ids.length && shown < until) {
          const records = await Promise.all(ids.slice(at, at + PAGE).map(recordOf));
          if (mine !== turn) return;
          at += PAGE;
          const found = records.filter(record => record && holds(record, words, code));
          files.append(...found.map(show));
          shown += found.length;
        }
        const rest = Math.max(ids.length - at, 0);
        status.textContent = `${shown} ${shown === 1 ? "file" : "files"}${rest ? `, and up to ${rest} more` : ""}`;
        more.hidden = !rest;
      };
      more.onclick = () => next().catch(complain);
      await next();
    };
    const complain = error => {
      console.warn(error.message);
      status.textContent = "The data of this page cannot be read. If the site was updated meanwhile, load the page again.";
    };
    document.getElementById("look-up").addEventListener("submit", event => {
      event.preventDefault();
      find(document.getElementById("words").value).catch(complain);
    });
    if (!index) { status.textContent = "The data of this page (files/index.js) are missing."; return; }
    status.textContent = `${index.files.toLocaleString("en")} files, as of ${index.made}.`;
  };
  addEventListener("DOMContentLoaded", start);
})();
