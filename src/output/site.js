const query = document.querySelector("input");
const rows = [...document.querySelectorAll("tbody tr")];
function search() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const text = row.dataset.text;
    row.hidden = !words.every((word) => text.includes(word));
    shown += row.hidden ? 0 : 1;
  }
  document.querySelector("output").textContent = `${shown} of ${rows.length} rules`;
}
query.addEventListener("input", search);
search();
