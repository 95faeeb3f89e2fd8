/** The tabs below the graph, in the order in which they stand. */

import type { PanelKind } from "../core/panel.ts";
import { figures } from "./figures.ts";
import { kernel } from "./stepper.ts";
import { log } from "./log.ts";
import { memory } from "./memory.ts";
import { roofline } from "./roofline.ts";
import { rules } from "./rules.ts";
import { schedule } from "./schedule.ts";
import { tiling } from "./tiling.ts";
import { time } from "./time.ts";
import { traffic } from "./traffic.ts";

export const tabs: PanelKind[] = [memory, schedule, traffic, roofline, tiling, kernel, time, rules, figures, log];
