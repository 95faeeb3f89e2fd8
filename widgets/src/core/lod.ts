/** How much of a box is drawn: by its height on the screen. */

export enum Detail {
  Block = 0,
  Type = 1,
  All = 2,
}

/** px of the screen that a card of 50 px must have. */
const TYPE_FROM = 0.36;
const ALL_FROM = 0.62;

export function detail(zoom: number): Detail {
  if (zoom < TYPE_FROM) return Detail.Block;
  return zoom < ALL_FROM ? Detail.Type : Detail.All;
}

/** Edges shorter than this on the screen say nothing in an overview of many. */
export function shortestEdge(edges: number, zoom: number): number {
  return zoom >= TYPE_FROM || edges < 4000 ? 0 : edges < 12000 ? 2 : 4;
}
