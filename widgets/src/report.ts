/** The entry of the HTML report: reads the document from the page, shows it, and holds the cursor in the address bar. */

import { tabs } from "gexplorer:tabs";
import type { PartName, Parts } from "./core/document.ts";
import { applied, isDifference } from "./core/delta.ts";
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
  return decodeEach(names.filter((name) => parts[name]), async (name) => inflate(parts[name] as string));
}

/** The parts in which a variant is another; undefined for one that it has not. Most come as differences to the own. */
async function decodeVariant(own: Record<string, string>, variant: Record<string, string>): Promise<Partial<Parts>> {
  const gone = Object.keys(variant).filter((name) => !variant[name]);
  const found = await decodeEach(Object.keys(variant).filter((name) => variant[name]), async (name) => {
    const bytes = await inflate(variant[name] as string);
    return isDifference(bytes) ? applied(await inflate(own[name] ?? ""), bytes) : bytes;
  });
  return { ...found, ...Object.fromEntries(gone.map((name) => [name, undefined])) };
}

async function decodeEach(names: readonly string[], bytes: (name: string) => Promise<Uint8Array>): Promise<Partial<Parts>> {
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, unpack(await bytes(name))] as const))) as Partial<Parts>;
}

async function start(): Promise<void> {
  const source = document.getElementById("gexplorer-document");
  const parent = document.getElementById("gexplorer") ?? document.body;
  if (!source) return;
  const carried = JSON.parse(source.textContent ?? "") as Carried;
  source.remove(); // its text is decoded once and not needed again
  const variants = carried.variants ?? {};
  let wish = 0;
  // What every variant is told from: kept, so that a switch unpacks only what is another.
  let own: Promise<Partial<Parts>> | undefined;
  const whole = (): Promise<Partial<Parts>> => (own ??= decode(carried.parts, Object.keys(carried.parts)));
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
    try {
      const decoded = { ...(await whole()), ...(await decodeVariant(carried.parts, variants[key] ?? {})) };
      if (turn !== wish) return; // a newer wish came meanwhile
      store.batch(() => {
        store.setWork(null);
        // What the variant before had alone must not stay.
        const gone = Object.keys(store.parts).filter((name) => !(name in decoded));
        store.receive({ ...decoded, ...Object.fromEntries(gone.map((name) => [name, undefined])) });
      });
    } catch (error) {
      store.setFailure(error instanceof Error ? error.message : String(error));
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
  own ??= Promise.resolve({ ...first, ...rest });
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
