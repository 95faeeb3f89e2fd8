/** The entry of the HTML report: reads the document from the page, shows it, and holds the cursor in the address bar. */

import { tabs } from "gexplorer:tabs";
import type { PartName, Parts } from "./core/document.ts";
import { inflate, unpack, variantKey } from "./core/pack.ts";
import type { Changes, Host } from "./core/panel.ts";
import { fromHash, fromSelection, toHash, toSelection, type Selection } from "./core/selection.ts";
import { ExplorerStore } from "./core/store.ts";
import { Explorer } from "./shell/explorer.ts";
import { h } from "./shell/dom.ts";

interface Carried {
  parts: Record<string, string>;
  variants?: Record<string, Record<string, string>>;
  /** What is chosen when the address names nothing. */
  selection?: Selection;
}

/** What the first picture needs; the rest is unpacked after it. */
const FIRST: PartName[] = ["head", "steps", "nodes", "scenes"];

async function decode(parts: Record<string, string>, names: readonly string[]): Promise<Partial<Parts>> {
  const found = names.filter((name) => parts[name]);
  const decoded = await Promise.all(found.map(async (name) => [name, unpack(await inflate(parts[name] as string))] as const));
  return Object.fromEntries(decoded) as Partial<Parts>;
}

async function start(): Promise<void> {
  const source = document.getElementById("gexplorer-document");
  const parent = document.getElementById("gexplorer") ?? document.body;
  if (!source) return;
  const carried = JSON.parse(source.textContent ?? "") as Carried;
  source.remove(); // its text is decoded once and not needed again
  const variants = carried.variants ?? {};
  let wish = 0;
  const host: Host = {
    moved: () => {
      const hash = toHash(toSelection(store.cursor, store.parts));
      if (hash === location.hash.slice(1)) return;
      try {
        history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
      } catch {
        // A frame that has no address of its own: nowhere to keep it.
      }
    },
  };
  const show = async (changes: Changes): Promise<void> => {
    const key = variantKey(changes);
    const turn = ++wish;
    const parts = key === "{}" ? carried.parts : { ...carried.parts, ...variants[key] };
    try {
      const decoded = await decode(parts, Object.keys(parts));
      if (turn !== wish) return; // a newer wish came meanwhile
      store.batch(() => {
        store.setWork(null);
        // A variant may lack a part that the document has: it must not show the old one.
        const gone = Object.keys(store.parts).filter((name) => !(name in decoded));
        store.receive({ ...decoded, ...Object.fromEntries(gone.map((name) => [name, undefined])) });
      });
    } catch (error) {
      store.setFailure(String(error));
    }
  };
  if (Object.keys(variants).length) {
    host.change = (changes) => void show(changes);
    host.canChange = (changes) => ["{}", ...Object.keys(variants)].includes(variantKey(changes));
    host.reset = () => void show({});
  }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const store = new ExplorerStore(host, dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => store.setTheme(dark.matches ? "dark" : "light"));
  const first = await decode(carried.parts, FIRST);
  store.receive(first);
  const explorer = new Explorer(parent, store, { embedded: false, tabs });
  const follow = (): void => store.move({ ...BLANK, ...fromSelection(fromHash(location.hash), store.parts) });
  if (location.hash.length > 1) follow();
  else if (carried.selection) store.move(fromSelection(carried.selection, store.parts));
  addEventListener("hashchange", follow);
  document.documentElement.classList.add("gexplorer-ready");
  // The rest, once the first picture stands.
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const rest = await decode(
    carried.parts,
    Object.keys(carried.parts).filter((name) => !FIRST.includes(name as PartName)),
  );
  store.receive(rest);
  if (location.hash.includes("value=") || location.hash.includes("rule=")) follow();
  Object.assign(document.documentElement.dataset, { gexplorer: "complete" });
  Object.assign(window, { gexplorer: { store, explorer } });
}

const BLANK = { step: undefined, rewrite: undefined, reject: undefined, node: undefined, value: undefined, rule: undefined, position: undefined };

start().catch((error: unknown) => {
  console.error(error);
  const detail = error instanceof Error ? error.message : String(error);
  // The page around it may have the same in words, and takes over.
  if (!document.getElementById("summary")) {
    const parent = document.getElementById("gexplorer") ?? document.body;
    parent.append(h("p", { role: "alert", text: `This report cannot be shown: ${detail}` }));
  } else dispatchEvent(new CustomEvent("gexplorer-failed", { detail }));
});
