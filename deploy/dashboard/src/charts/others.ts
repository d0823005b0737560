/** Other sensors in the chart of one: a line each, told apart by colour and by dashes. */

import type uPlot from "uplot";
import type { Estimate } from "../wire";
import { runs } from "./columns";
import { ink } from "./ink";
import type { Range } from "./zoom";

/** Colours and dashes of the style sheet, in the order in which sensors are added. */
export const MOST_OTHERS = 3;
export const DASHES = [[], [7, 3], [2, 3]];

export interface Other {
  name: string;
  windows: Estimate[];
}

export function drawOthers(u: uPlot, others: Other[], zoomed: boolean): void {
  const { ctx, bbox } = u;
  const px = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, 0, zoomed ? bbox.width : ctx.canvas.width, ctx.canvas.height);
  ctx.clip();
  ctx.lineWidth = 1.75 * px;
  ctx.lineJoin = "round";
  others.forEach(({ windows }, index) => {
    ctx.strokeStyle = ink(`--other-${index}`);
    ctx.setLineDash(DASHES[index]!.map((length) => length * px));
    for (const run of runs(windows)) ctx.stroke(pathOf(u, run));
  });
  ctx.restore();
}

function pathOf(u: uPlot, run: Estimate[]): Path2D {
  const path = new Path2D();
  for (const { startMs, endMs, value } of run)
    path.lineTo(u.valToPos((startMs + endMs) / 2000, "x", true), u.valToPos(value!, "y", true));
  return path;
}

/** The lowest and highest value of the others within a part of the chart. */
export function extentOf(others: Other[], [fromMs, toMs]: Range): [number, number] | null {
  const values = others.flatMap(({ windows }) =>
    windows.flatMap(({ startMs, endMs, value }) => (value !== null && endMs > fromMs && startMs < toMs ? [value] : [])),
  );
  return values.length === 0 ? null : [Math.min(...values), Math.max(...values)];
}
