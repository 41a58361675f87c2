// The console without this works; with it, pages stay up to date, sliders move numbers, and plans come by themselves.
"use strict";

const live = document.getElementById("live");
if (live?.dataset.watch) {
  const stale = document.getElementById("stale");
  const source = new EventSource(live.dataset.watch);
  source.onmessage = ({ data }) => {
    stale.hidden = true;
    const held = live.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    live.innerHTML = data; // written by the server, which escapes every value
    if (held) live.querySelector(`[href="${CSS.escape(held)}"]`)?.focus();
  };
  source.onerror = () => { stale.hidden = false; };
  addEventListener("pagehide", () => source.close());
}

const form = document.getElementById("new");
if (form) {
  const shown = document.getElementById("plan");
  let timer = 0, asked = null;
  const plan = async () => {
    asked?.abort();
    asked = new AbortController();
    shown.classList.add("waits");
    try {
      const answer = await fetch("/plan", { method: "POST", body: new URLSearchParams(new FormData(form)), signal: asked.signal });
      shown.innerHTML = await answer.text();
      shown.classList.remove("waits");
    } catch (error) {
      if (error.name !== "AbortError") shown.classList.remove("waits");
    }
  };
  const soon = () => { clearTimeout(timer); timer = setTimeout(plan, 350); };

  for (const slider of form.querySelectorAll("input[type=range]")) {
    const number = document.getElementById(slider.dataset.of);
    const [least, most, digits] = ["least", "most", "digits"].map((name) => Number(slider.dataset[name]));
    const value = () => Number((least * (most / least) ** (slider.value / 100)).toPrecision(digits));
    const place = () => {
      const typed = Number(number.value.replaceAll(",", ""));
      if (typed > 0) slider.value = 100 * Math.log(typed / least) / Math.log(most / least);
      slider.setAttribute("aria-valuetext", number.value || "no limit");
    };
    slider.hidden = false;
    place();
    slider.addEventListener("input", () => { number.value = String(value()); slider.setAttribute("aria-valuetext", number.value); soon(); });
    number.addEventListener("input", place);
  }
  form.addEventListener("input", soon);
  if (form.elements.labels.value || form.elements.domain.value) plan();
}
