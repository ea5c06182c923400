// The console's only script: it checks what you type, tries it, refreshes numbers, shows arrivals.
// Every page works without it, except that you press buttons and reload yourself.
"use strict";

const token = document.querySelector("meta[name=csrf-token]")?.content ?? "";
const SILENT = "The broker does not answer. Is it running?";

async function send(address, body) {
  return fetch(address, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": token },
    body: JSON.stringify(body),
  });
}

function element(name, text, look) {
  const made = document.createElement(name);
  made.textContent = text;
  if (look) made.className = look;
  return made;
}

function checkWhileTyping(area) {
  const verdict = document.getElementById("verdict");
  let timer = 0, latest = 0;
  const say = (isRight, text) => {
    verdict.className = isRight ? "right" : "wrong";
    verdict.textContent = text;
    area.setAttribute("aria-invalid", String(!isRight));
  };
  const check = async () => {
    const mine = ++latest;
    if (!area.value.trim()) { verdict.textContent = ""; return; }
    try {
      const answer = await send(area.dataset.check, { subscription: area.value });
      const found = await answer.json();
      if (mine !== latest) return; // a newer text is being checked
      say(answer.ok, answer.ok ? `✓ ${found.canonical}` : located(area.value, found));
    } catch {
      say(false, SILENT);
    }
  };
  area.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(check, 200); });
  if (area.value) check();
}

function located(text, problem) {
  if (!problem.line) return `✗ ${problem.detail}`;
  const line = text.split("\n")[problem.line - 1] ?? "";
  const hint = problem.hint ? `; ${problem.hint}` : "";
  return `✗ ${problem.problem ?? problem.title}${hint}\n${line}\n${" ".repeat(problem.column - 1)}^`;
}

function tryInPlace(button) {
  const place = document.getElementById("tried");
  button.addEventListener("click", async (event) => {
    event.preventDefault();
    place.setAttribute("aria-busy", "true");
    try {
      const answer = await send(button.dataset.try, { subscription: document.getElementById("text").value });
      if (answer.ok) place.innerHTML = await answer.text();
      else place.replaceChildren(element("p", (await answer.json()).detail, "said wrong"));
    } catch {
      place.replaceChildren(element("p", SILENT, "said wrong"));
    }
    place.removeAttribute("aria-busy");
  });
}

function refresh(part) {
  const again = async () => {
    try {
      const answer = document.hidden ? null : await fetch(part.dataset.refresh);
      if (answer?.redirected) { location.reload(); return; } // the session has ended
      if (answer?.ok) part.innerHTML = await answer.text();
      part.classList.remove("stale");
    } catch {
      part.classList.add("stale"); // the broker is away; it may come back
    }
    setTimeout(again, 2000);
  };
  setTimeout(again, 2000);
}

function watch(list) {
  const most = 200;
  const stream = new EventSource(list.dataset.stream);
  const add = (time, ...parts) => {
    list.querySelector(".empty")?.remove();
    const item = document.createElement("li");
    item.append(element("time", time.toLocaleTimeString()), ...parts);
    list.prepend(item);
    while (list.children.length > most) list.lastChild.remove();
  };
  stream.addEventListener("notification", (message) => {
    const found = JSON.parse(message.data);
    const time = new Date(found.time);
    if (!found.event) { add(time, element("span", "The lease of this subscription ends soon.")); return; }
    const entry = document.createElement("details");
    const brief = JSON.stringify(found.event, null, 1).replace(/\n\s*/g, " ");
    const head = document.createElement("summary");
    head.append(element("code", brief, "line"));
    entry.append(head, element("pre", JSON.stringify(found.event, null, 2)));
    add(time, entry);
  });
  stream.addEventListener("gap", (message) => {
    const { count } = JSON.parse(message.data);
    add(new Date(), element("span", `${count} older notifications were removed before they were read.`));
  });
  stream.addEventListener("end", (message) => {
    stream.close();
    add(new Date(), element("span", JSON.parse(message.data).detail));
  });
}

function confirmFirst(form) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset.confirm)) event.preventDefault();
  });
}

document.querySelectorAll("[data-check]").forEach(checkWhileTyping);
document.querySelectorAll("[data-try]").forEach(tryInPlace);
document.querySelectorAll("[data-refresh]").forEach(refresh);
document.querySelectorAll("[data-stream]").forEach(watch);
document.querySelectorAll("[data-confirm]").forEach(confirmFirst);
