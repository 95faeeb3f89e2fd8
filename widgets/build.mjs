// Builds gexplorer/static/ from src/; with --watch again on every change, with --test the tests, which are then run.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "gexplorer", "static");
const banner = "/* gexplorer, Apache-2.0. Built from widgets/ by `npm run build`; do not edit. */";

// The tabs may not be there yet, or no longer: then the explorer has none.
const tabs = {
  name: "tabs",
  setup(build) {
    build.onResolve({ filter: /^gexplorer:tabs$/ }, () => {
      const path = join(here, "src", "tabs", "index.ts");
      return existsSync(path) ? { path } : { path: "none", namespace: "no-tabs" };
    });
    build.onLoad({ filter: /.*/, namespace: "no-tabs" }, () => ({ contents: "export const tabs = [];" }));
  },
};

const common = {
  bundle: true,
  minify: true,
  charset: "utf8",
  target: "es2022",
  legalComments: "none",
  absWorkingDir: here,
  plugins: [tabs],
  logLevel: "info",
};

/** Every style sheet below src/, in one nest so that nothing leaks out; *.top.css stands outside (keyframes). */
function styles() {
  const sheets = [join(here, "src", "styles"), join(here, "src", "tabs")]
    .filter(existsSync)
    .flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith(".css")).sort().map((name) => join(folder, name)));
  const read = (paths) => paths.map((path) => `/* ${relative(here, path)} */\n${readFileSync(path, "utf8")}`).join("\n");
  const [top, nested] = [sheets.filter((path) => path.endsWith(".top.css")), sheets.filter((path) => !path.endsWith(".top.css"))];
  return { contents: `${read(top)}\n.gexplorer {\n${read(nested)}\n}\n`, loader: "css", resolveDir: join(here, "src", "styles") };
}

/** Every panel that is a widget by itself: the graph, and the tabs by the name of what their file exports. */
function panels() {
  const index = join(here, "src", "tabs", "index.ts");
  const text = existsSync(index) ? readFileSync(index, "utf8") : "";
  const tabs = [...text.matchAll(/import \{ (\w+) \} from "\.\/([\w.]+)"/g)].map(([, name, file]) => ({ name, file: `./tabs/${file}` }));
  return [{ name: "graph", file: "./shell/graph.ts" }, ...tabs];
}

const jobs = () => [
  { ...common, entryPoints: ["src/report.ts"], format: "iife", outfile: join(out, "report.js"), banner: { js: banner } },
  { ...common, entryPoints: ["src/explorer.ts"], format: "esm", outfile: join(out, "explorer.js"), banner: { js: banner } },
  ...panels().map(({ name, file }) => ({
    ...common,
    stdin: {
      contents: `import { ${name} } from "${file}"; import { panelWidget } from "./panel.ts"; export default panelWidget(${name});`,
      resolveDir: join(here, "src"),
    },
    format: "esm",
    outfile: join(out, `panel-${name}.js`),
    banner: { js: banner },
  })),
  {
    ...common,
    stdin: styles(),
    // Old enough that nesting is written out: notebooks are opened in old browsers.
    target: ["chrome105", "firefox110", "safari15.4"],
    outfile: join(out, "gexplorer.css"),
    banner: { css: banner },
  },
];

async function tests() {
  const folder = join(here, "node_modules", ".tests");
  const entries = readdirSync(join(here, "test")).filter((name) => name.endsWith(".test.ts")).sort();
  await build({
    ...common,
    entryPoints: entries.map((name) => join("test", name)),
    minify: false,
    sourcemap: "inline",
    platform: "node",
    format: "esm",
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    logLevel: "warning",
  });
  const files = entries.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")));
  const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files], { stdio: "inherit" });
  process.exit(run.status ?? 1);
}

mkdirSync(out, { recursive: true });
if (process.argv.includes("--test")) {
  await tests();
} else if (process.argv.includes("--watch")) {
  for (const job of jobs()) await (await context(job)).watch();
} else {
  for (const job of jobs()) await build(job);
  for (const name of readdirSync(out).sort()) {
    const path = join(out, name);
    const text = readFileSync(path, "utf8");
    if (!text.endsWith("\n")) writeFileSync(path, `${text}\n`);
    console.log(`${name} ${(statSync(path).size / 1000).toFixed(1)} kB`);
  }
}
