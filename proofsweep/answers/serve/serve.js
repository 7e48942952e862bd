"use strict";
// Every page can be read without this: it shows how far active runs are, and that a run has begun or ended.
const trouble = document.getElementById("trouble");
const say = text => { if (trouble.textContent !== text) trouble.textContent = text; };
let shown = document.body.dataset.state, events = null, renewal = 0;

const show = now => {
  say(now.trouble || "");
  if (now.trouble) return;
  for (const [run, far] of Object.entries(now.runs)) {
    const place = document.querySelector(`[data-run="${CSS.escape(run)}"]`);
    if (place) place.innerHTML = far; // the server's own template, in which every text is escaped
  }
  // A run or a leg began or ended, or the store can be read again: a page that shows the present is loaded anew. What
  // the server saw last may be older than the page, so it has time to look again.
  clearTimeout(renewal);
  if (shown !== undefined && shown !== now.state) renewal = setTimeout(() => location.reload(), 5000);
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
