/** Limits as dashed lines across a chart. */

import type uPlot from "uplot";
import { FONT, ink } from "./ink";

export interface Line {
  at: number;
  label: string;
}

/** The scale grows to the lowest line only if that is at most so many times the highest value. */
const NEAR = 2;
/** A label needs so many points below the line above it. */
const APART = 15;

export function withLowest(lines: Line[], high: number): number {
  const lowest = Math.min(...lines.map(({ at }) => at));
  return lowest <= NEAR * high ? Math.max(high, lowest) : high;
}

/** Every line within the scale. If the lowest is above it, a note at the top says where it is. */
export function drawLines(u: uPlot, lines: Line[]): void {
  const { ctx, bbox } = u;
  const px = devicePixelRatio;
  const inside = lines.filter(({ at }) => at <= (u.scales.y!.max ?? 0)).sort((a, b) => b.at - a.at);
  const lowest = lines.reduce<Line | null>((least, line) => (least && least.at <= line.at ? least : line), null);
  ctx.save();
  ctx.font = FONT.replace("12px", `${11 * px}px`);
  ctx.strokeStyle = ctx.fillStyle = ink("--limit");
  ctx.lineWidth = px;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.setLineDash([5 * px, 4 * px]);
  let above = -Infinity;
  for (const { at, label } of inside) {
    const y = Math.round(u.valToPos(at, "y", true));
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    if (y - above >= APART * px) ctx.fillText(label, bbox.left + 4 * px, y - 4 * px);
    above = y;
  }
  if (inside.length === 0 && lowest) ctx.fillText(`↑ ${lowest.label}`, bbox.left + 4 * px, bbox.top + 4 * px);
  ctx.restore();
}
