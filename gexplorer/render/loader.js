/* Unpacks the explorer's style sheet and program, and puts them into the page; the policy names the hash of each. */
(async () => {
  // Thirteen bits are two of 91 letters: render/base91.py.
  const bytesOf = (text) => {
    const letter = (i) => {
      const code = text.charCodeAt(i);
      return code - 32 - (code > 34) - (code > 38) - (code > 60) - (code > 92);
    };
    const bytes = new Uint8Array((13 * (text.length >> 1) + 6 * (text.length & 1)) >> 3);
    let [at, bits, left] = [0, 0, 0];
    for (let i = 0; i < text.length; i += 2) {
      const pair = i + 1 < text.length;
      bits = pair ? (bits << 13) | (91 * letter(i) + letter(i + 1)) : (bits << 6) | letter(i);
      for (left += pair ? 13 : 6; left > 7; ) bytes[at++] = bits >> (left -= 8);
    }
    return bytes;
  };
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
      const stream = new Blob([bytesOf(one(id).textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
      const element = document.createElement(tag);
      element.textContent = await new Response(stream).text();
      document.head.append(element);
    }
  } catch (error) {
    failed(error.message);
  }
})();
