for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const key = (row) => {
      const text = row.cells[column].dataset.key ?? row.cells[column].textContent.trim();
      return text === "–" ? "" : text.replace("−", "-");
    };
    const numeric = [...body.rows].every((row) => key(row) === "" || !Number.isNaN(parseFloat(key(row))));
    const compare = numeric ? (a, b) => parseFloat(a) - parseFloat(b) : (a, b) => a.localeCompare(b, "en");
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const rows = [...body.rows];
      const full = rows.filter((row) => key(row) !== "").sort((a, b) => compare(key(a), key(b)));
      if (descending) full.reverse();
      body.append(...full, ...rows.filter((row) => key(row) === "")); // what has no value stays last
    });
  });
}

const claims = [...document.querySelectorAll("details.claim")];
const unfold = document.getElementById("unfold");
unfold.hidden = false;
unfold.addEventListener("click", () => {
  const open = claims.some((claim) => !claim.open);
  claims.forEach((claim) => { claim.open = open; });
  unfold.textContent = open ? "Fold all" : "Unfold all";
});

// a box is seen anew when its claim unfolds; in the next frame, since the hint changes the height of what is observed
const widths = new ResizeObserver((entries) => requestAnimationFrame(() => {
  entries.forEach(({ target }) => target.classList.toggle("more", target.scrollWidth > target.clientWidth));
}));
document.querySelectorAll(".scroll").forEach((box) => widths.observe(box));

function follow() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.matches("details.claim")) return;
  target.open = true;
  target.scrollIntoView();
  target.querySelector("summary").focus({ preventScroll: true });
}
addEventListener("hashchange", follow);
follow();

addEventListener("beforeprint", () => {
  claims.filter((claim) => !claim.open).forEach((claim) => { claim.open = true; claim.dataset.printed = ""; });
});
addEventListener("afterprint", () => {
  document.querySelectorAll("[data-printed]").forEach((claim) => { claim.open = false; delete claim.dataset.printed; });
});
