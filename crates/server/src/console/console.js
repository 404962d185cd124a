// The console's own script: keeps the list live, counts down, and takes keys. Everything works without it but that.
"use strict";
(() => {
  const link = document.querySelector("form[data-link]");
  if (link && location.hash.length > 1) {
    link.elements.link.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname); // the word is for one use, not for the history
  }

  const live = document.getElementById("live");
  if (!live) return;
  const light = document.querySelector(".live");
  const wishes = { sound: box("sound"), notice: box("notice") };
  let chosen = null;
  const known = new Set(cards().map((card) => card.id));
  let audio = null;

  function box(name) {
    const input = document.querySelector(`input[name=${name}]`);
    input.checked = localStorage.getItem(name) === "on";
    input.addEventListener("change", async () => {
      if (name === "notice" && input.checked && (await Notification.requestPermission()) !== "granted") input.checked = false;
      localStorage.setItem(name, input.checked ? "on" : "off");
      if (name === "sound" && input.checked) ring();
    });
    return input;
  }
  function cards() { return [...live.querySelectorAll(".card")]; }

  // The server sends the time that is left: this machine's clock may be wrong.
  function start(card) {
    card.deadline = performance.now() + Number(card.dataset.left);
  }
  function count() {
    for (const card of cards()) {
      if (!card.dataset.left) continue;
      const left = Math.max(0, card.deadline - performance.now());
      const remaining = card.querySelector(".left");
      if (remaining) remaining.textContent = left > 0 ? `${Math.ceil(left / 1000)} s` : "time is up";
      const bar = card.querySelector(".bar");
      if (bar) bar.value = left;
      if (left === 0 && !card.classList.contains("over")) {
        card.classList.add("over");
        card.querySelectorAll("button").forEach((button) => { button.disabled = true; });
        setTimeout(refresh, 400);
      }
    }
  }

  // When cards come and go, or the page itself comes to the front, what is under a finger may have changed: presses of
  // that moment are not meant. The style sheet holds the first moment of a page, and of a card, by itself.
  function settle() {
    live.classList.add("settling");
    clearTimeout(settle.timer);
    settle.timer = setTimeout(() => live.classList.remove("settling"), 500);
  }

  async function refresh() {
    if (refresh.running) { refresh.again = true; return; }
    refresh.running = true;
    try {
      const answer = await fetch(live.dataset.from, { headers: { accept: "text/html" }, cache: "no-store" });
      if (answer.status === 401) { location.assign("/console/login"); return; }
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      adopt(page.getElementById("live"));
    } catch {
      light.classList.remove("on");
    } finally {
      refresh.running = false;
      if (refresh.again) { refresh.again = false; refresh(); }
    }
  }

  // What is still the same is not touched: a press that has begun, a note half written and a step half taken go on.
  function adopt(next) {
    if (!next) return;
    const here = live.querySelector("#waiting"), wanted = new Map();
    for (const node of next.querySelector("#waiting").children) wanted.set(node.id, node);
    const before = here.children.length;
    for (const old of [...here.children]) {
      const now = wanted.get(old.id);
      if (now && now.dataset.state === old.dataset.state) wanted.delete(old.id);
      else old.remove();
    }
    const fresh = [...wanted.values()];
    if (fresh.length || here.children.length !== before) settle();
    for (const node of fresh) {
      start(node);
      if (!known.has(node.id)) node.classList.add("fresh");
      here.append(node);
    }
    for (const name of ["count", "past"]) {
      const updated = next.querySelector(`#${name}`), shown = live.querySelector(`#${name}`);
      if (updated && adopt[name] !== updated.innerHTML) {
        adopt[name] = updated.innerHTML;
        shown.replaceChildren(...updated.childNodes);
      }
    }
    if (chosen && !live.contains(chosen)) chosen = null;
    head();
    count();
    const news = fresh.filter((node) => !known.has(node.id) && node.dataset.state === "waiting");
    for (const node of fresh) known.add(node.id);
    if (news.length) call(news);
  }

  // The server sends UTC; show local time.
  function localise() {
    live.querySelectorAll("time[datetime]").forEach((time) => { time.textContent = new Date(time.dateTime).toLocaleTimeString(); });
    const zone = live.querySelector("[data-zone]");
    if (zone) zone.textContent = "";
  }

  function head() {
    localise();
    const waiting = live.querySelectorAll(".card[data-state=waiting]").length;
    document.title = (waiting ? `(${waiting}) ` : "") + "Console · Stockade";
  }

  function call(fresh) {
    if (wishes.sound.checked) ring();
    if (wishes.notice.checked && Notification.permission === "granted") {
      for (const card of fresh) {
        const notice = new Notification("A decision is wanted", { body: card.dataset.summary, tag: card.id });
        notice.onclick = () => { window.focus(); choose(document.getElementById(card.id)); notice.close(); };
      }
    }
  }
  function ring() {
    audio ??= new AudioContext();
    audio.resume();
    [660, 880].forEach((pitch, index) => {
      const tone = audio.createOscillator(), loud = audio.createGain(), at = audio.currentTime + index * 0.16;
      tone.frequency.value = pitch;
      loud.gain.setValueAtTime(0.0001, at);
      loud.gain.exponentialRampToValueAtTime(0.12, at + 0.02);
      loud.gain.exponentialRampToValueAtTime(0.0001, at + 0.3);
      tone.connect(loud).connect(audio.destination);
      tone.start(at);
      tone.stop(at + 0.32);
    });
  }

  live.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (live.classList.contains("settling")) return;
    const form = event.target, card = form.closest(".card"), status = card.querySelector("output");
    const fields = new URLSearchParams(new FormData(form, event.submitter));
    card.querySelectorAll("button").forEach((button) => { button.disabled = true; });
    try {
      const answer = await fetch(form.action, { method: "POST", body: fields, headers: { accept: "application/json" } });
      const said = await answer.json();
      if (!answer.ok) status.textContent = `${said.message}. ${said.hint}`;
      if (answer.status === 401) location.assign("/console/login");
      if (!answer.ok && answer.status !== 409) card.querySelectorAll("button").forEach((button) => { button.disabled = false; });
    } catch {
      status.textContent = "The server does not answer. Nothing was decided.";
      card.querySelectorAll("button").forEach((button) => { button.disabled = false; });
    }
    refresh();
  });

  function choose(card) {
    if (!card) return;
    chosen?.classList.remove("chosen");
    chosen = card;
    card.classList.add("chosen");
    card.scrollIntoView({ block: "nearest" });
  }
  function press(name) {
    const button = chosen?.querySelector(`[data-key=${name}]`);
    if (!button || live.classList.contains("settling")) return;
    if (button.tagName === "SUMMARY") { button.parentElement.open = true; button.parentElement.querySelector("button")?.focus(); }
    else if (!button.disabled) button.click();
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || /^(INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
    const waiting = cards().filter((card) => card.dataset.state === "waiting");
    const at = waiting.indexOf(chosen);
    switch (event.key) {
      case "j": choose(waiting[Math.min(at + 1, waiting.length - 1)]); break;
      case "k": choose(waiting[Math.max(at - 1, 0)]); break;
      case "a": case "s": case "d": case "r": press(event.key); break;
      case "Escape": chosen?.querySelectorAll("details[open]").forEach((open) => { open.open = false; }); break;
      default: return;
    }
    event.preventDefault();
  });

  settle();
  window.addEventListener("focus", settle);
  window.addEventListener("pageshow", settle);
  document.addEventListener("visibilitychange", settle);
  cards().forEach(start);
  head();
  count();
  setInterval(count, 250);
  const events = new EventSource("/operator/events");
  events.onopen = () => { light.classList.add("on"); refresh(); };
  events.addEventListener("change", refresh);
  events.onerror = () => light.classList.remove("on");
  // For what the stream does not report: questions of another process of the same state folder, and no stream at all.
  setInterval(refresh, 4000);
})();
