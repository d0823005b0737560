/** The windows on the canvas: lines with their bands, lone dots, and columns where a window has no value. */

import type uPlot from "uplot";
import type { Estimate } from "../wire";
import { ink } from "./ink";

const TICK = 6;

/** A window published without a value is a pale column with a tick; a missing window has neither. */
export function drawEmpty({ ctx, bbox, valToPos }: uPlot, windows: Estimate[]): void {
  const { left: edge, top, width: room, height } = bbox;
  const tick = TICK * devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(edge, top, room, height);
  ctx.clip();
  for (const window of windows) {
    if (window.value !== null) continue;
    const left = Math.max(edge, valToPos(window.startMs / 1000, "x", true));
    const width = Math.max(devicePixelRatio, valToPos(window.endMs / 1000, "x", true) - left);
    ctx.fillStyle = ink("--alert-wash");
    ctx.fillRect(left, top, width, height);
    ctx.fillStyle = ink("--alert");
    ctx.fillRect(left, top + height - tick, width, tick);
  }
  ctx.restore();
}

export function drawRuns(u: uPlot, runs: Estimate[][], zoomed: boolean): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  // The newest dot may reach over the right edge.
  ctx.rect(bbox.left, 0, zoomed ? bbox.width : ctx.canvas.width, ctx.canvas.height);
  ctx.clip();
  ctx.fillStyle = ink("--band");
  for (const run of runs) ctx.fill(bandPath(u, run));
  ctx.fillStyle = ctx.strokeStyle = ink("--accent");
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.lineJoin = "round";
  for (const run of runs) {
    if (run.length > 1) ctx.stroke(linePath(u, run));
    else ctx.fill(dotPath(u, run[0]!));
  }
  ctx.restore();
}

type Point = [x: number, y: number];

function point(u: uPlot, atMs: number, value: number): Point {
  return [u.valToPos(atMs / 1000, "x", true), u.valToPos(value, "y", true)];
}

function middleMs(window: Estimate): number {
  return (window.startMs + window.endMs) / 2;
}

function path(points: Point[]): Path2D {
  const drawn = new Path2D();
  for (const [x, y] of points) drawn.lineTo(x, y);
  return drawn;
}

function linePath(u: uPlot, run: Estimate[]): Path2D {
  return path(run.map((window) => point(u, middleMs(window), window.value!)));
}

/** A window without a neighbour is a dot; its interval is as wide as the window. */
function dotPath(u: uPlot, window: Estimate): Path2D {
  const dot = new Path2D();
  dot.arc(...point(u, middleMs(window), window.value!), 3 * devicePixelRatio, 0, 2 * Math.PI);
  return dot;
}

function bandPath(u: uPlot, run: Estimate[]): Path2D {
  const edge = (side: "low" | "high") =>
    run.flatMap((window) => {
      const times = run.length > 1 ? [middleMs(window)] : [window.startMs, window.endMs];
      return times.map((atMs) => point(u, atMs, window[side] ?? window.value!));
    });
  return path([...edge("high"), ...edge("low").reverse()]);
}
