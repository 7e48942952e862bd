"use strict";
// Every page can be read without this: it shows how far active runs are, and loads a page anew when it is old.
{
  const state = document.querySelector("[data-state]")?.dataset.state;
  const trouble = document.createElement("p");
  trouble.id = "trouble";
  trouble.className = "attention";
  trouble.setAttribute("role", "status");
  document.querySelector("header").prepend(trouble);
  const say = text => { if (trouble.textContent !== text) trouble.textContent = text; };
  let shown = state, events = null, renewal = 0;

  // What somebody has typed is not lost.
  const renew = () => {
    if ([...document.querySelectorAll("input:not([type=hidden])")].every(field => !field.value)) location.reload();
    else say("A run began or ended since. Load this page again to see it.");
  };

  const show = now => {
    say(now.trouble || "");
    if (now.trouble) return;
    for (const [run, far] of Object.entries(now.runs)) {
      const place = document.querySelector(`[data-run="${CSS.escape(run)}"]`);
      if (place) place.innerHTML = far; // the server's own template, in which every text is escaped
    }
    // A run or a leg began or ended, or the store can be read again. What the server saw last may be older than the
    // page, so it has time to look again.
    shown ??= now.state;
    clearTimeout(renewal);
    if (shown !== now.state) renewal = setTimeout(renew, 5000);
  };

  const listen = () => {
    events = new EventSource("/events");
    events.addEventListener("now", event => show(JSON.parse(event.data)));
    events.addEventListener("error", () => say("The server does not answer; what you see may be old."));
  };

  // Nobody looks at a page in the background, and a browser has few connections for one server.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { events?.close(); events = null; } else if (!events) listen();
  });
  if (!document.hidden) listen();
}
