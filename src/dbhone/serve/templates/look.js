// Looks for news of what the page shows, and puts it in its place. Nothing moves: where the reader
// is (the focus, a box that is ticked), the page stays as it is until they have gone on.
"use strict";
(() => {
  const button = document.getElementById("pause");
  const lost = document.getElementById("lost");
  let seconds = Number(document.body.dataset.again);
  let stopped = false;
  let timer;

  const later = () => {
    clearTimeout(timer);
    if (seconds && !stopped) timer = setTimeout(look, seconds * 1000);
  };

  const inUse = (part) =>
    part.contains(document.activeElement) || part.querySelector(":checked") !== null;

  const show = (news) => {
    for (const part of document.querySelectorAll("[data-part]")) {
      const fresh = news.getElementById(part.id);
      if (fresh && !inUse(part) && part.innerHTML !== fresh.innerHTML) {
        part.replaceChildren(...fresh.childNodes);
      }
    }
    seconds = Number(news.body.dataset.again);
    button.hidden = !seconds;
  };

  const look = async () => {
    if (document.hidden) return later();
    try {
      const answer = await fetch(location.href);
      if (!answer.ok) {
        lost.textContent = `No news: ${answer.status} ${answer.statusText}. Load the page again.`;
        return later();
      }
      show(new DOMParser().parseFromString(await answer.text(), "text/html"));
      lost.textContent = "";
    } catch {
      lost.textContent = "No news: hone serve does not answer.";
    }
    later();
  };

  button.hidden = false;
  button.addEventListener("click", () => {
    stopped = !stopped;
    button.setAttribute("aria-pressed", String(stopped));
    later();
  });
  later();
})();
