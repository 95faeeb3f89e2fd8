/** Resolved by build.mjs: src/tabs/index.ts, or none. */
declare module "gexplorer:tabs" {
  export const tabs: import("./core/panel.ts").PanelKind[];
}
