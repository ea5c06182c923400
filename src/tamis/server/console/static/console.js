// The console's only script: it checks what you type, tries it, refreshes numbers, shows arrivals.
// Every page works without it, except that you press buttons and reload yourself.
"use strict";

const token = document.querySelector("meta[name=csrf-token]")?.content ?? "";

async function send(address, body) {
  return fetch(address, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": token },
    body: JSON.stringify(body),
  });
}

function checkWhileTyping(area) {
  const verdict = document.getElementById("verdict");
  let timer = 0, latest = 0;
  const check = async () => {
    const mine = ++latest;
    if (!area.value.trim()) { verdict.textContent = ""; return; }
    const answer = await send(area.dataset.check, { subscription: area.value });
    const found = await answer.json();
    if (mine !== latest) return; // a newer text is being checked
    verdict.className = answer.ok ? "right" : "wrong";
    verdict.textContent = answer.ok ? `✓ ${found.canonical}` : located(area.value, found);
    area.setAttribute("aria-invalid", String(!answer.ok));
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
  button.addEventListener("click", async (event) => {
    event.preventDefault();
    const text = document.getElementById("text").value;
    const answer = await send(button.dataset.try, { subscription: text });
    document.getElementById("tried").innerHTML = await answer.text();
  });
}

function refresh(part) {
  const again = async () => {
    if (!document.hidden) {
      const answer = await fetch(part.dataset.refresh);
      if (answer.ok) part.innerHTML = await answer.text();
    }
    setTimeout(again, 2000);
  };
  setTimeout(again, 2000);
}

function watch(list) {
  const most = 200;
  const stream = new EventSource(list.dataset.stream);
  stream.addEventListener("notification", (message) => {
    list.querySelector(".empty")?.remove();
    const found = JSON.parse(message.data);
    const item = document.createElement("li");
    const time = document.createElement("time");
    const code = document.createElement("code");
    time.textContent = new Date(found.time).toLocaleTimeString();
    code.textContent = JSON.stringify(found.event, null, 1).replace(/\n\s*/g, " ");
    item.append(time, code);
    list.prepend(item);
    while (list.children.length > most) list.lastChild.remove();
  });
}

document.querySelectorAll("[data-check]").forEach(checkWhileTyping);
document.querySelectorAll("[data-try]").forEach(tryInPlace);
document.querySelectorAll("[data-refresh]").forEach(refresh);
document.querySelectorAll("[data-stream]").forEach(watch);
