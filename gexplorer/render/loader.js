/* Unpacks the explorer's style sheet and program, and puts them into the page; the policy names the hash of each. */
(async () => {
  const one = (id) => document.getElementById(id);
  const summary = one("summary");
  const styles = one("summary-style");
  const show = (explorer) => {
    if (styles) styles.media = explorer ? "print" : "all";
    if (summary) summary.hidden = explorer;
    document.body.classList.toggle("with-explorer", explorer);
  };
  const failed = (reason) => {
    show(false);
    const note = one("gexplorer-note");
    note.hidden = false;
    note.textContent = `The explorer cannot be shown here (${reason}). What follows is the same in words.`;
  };
  window.addEventListener("gexplorer-failed", (event) => failed(event.detail));
  try {
    show(true);
    for (const [id, tag] of [["gexplorer-style", "style"], ["gexplorer-code", "script"]]) {
      const bytes = Uint8Array.from(atob(one(id).textContent), (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      const element = document.createElement(tag);
      element.textContent = await new Response(stream).text();
      document.head.append(element);
    }
  } catch (error) {
    failed(error.message);
  }
})();
