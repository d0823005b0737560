/** One weight against the auxiliary channel, with the training range and the present value marked. */

import uPlot from "uplot";
import { brief, significant, withUnit } from "../words";
import { axis, ink, plot } from "./ink";

const HEIGHT = 150;

export interface WeightCurve {
  auxiliary: string;
  x: number[];
  y: number[];
  domain: [number, number] | null;
  now: { x: number; y: number | null } | null;
}

export class WeightChart {
  private chart: uPlot | null = null;
  private curve: WeightCurve = { auxiliary: "", x: [], y: [], domain: null, now: null };

  constructor(private readonly place: HTMLElement) {}

  update(curve: WeightCurve): void {
    this.curve = curve;
    this.chart ??= plot(this.place, HEIGHT, this.options(), [curve.x, curve.y]);
    this.chart.setData([curve.x, curve.y]);
  }

  private options(): Omit<uPlot.Options, "width" | "height"> {
    return {
      legend: { show: false },
      padding: [10, 20, 0, 0],
      cursor: { show: false },
      scales: {
        x: { time: false, range: (_, min, max) => this.xRange(min, max) },
        y: { range: (_, min, max) => this.yRange(min, max) },
      },
      axes: [
        axis({
          space: 64,
          grid: { show: false },
          size: 28,
          values: (_, ticks) => ticks.map((v) => withUnit(brief(v), this.curve.auxiliary)),
        }),
        axis({ size: 60, space: 36, values: (_, ticks) => ticks.map((v) => significant(v, 2)) }),
      ],
      series: [{}, { stroke: () => ink("--accent"), width: 2, points: { show: false } }],
      hooks: { drawClear: [(u) => this.shadeDomain(u)], draw: [(u) => this.markNow(u)] },
    };
  }

  /** The axis includes the present temperature, even outside the sampled curve. */
  private xRange(min: number, max: number): [number, number] {
    const now = this.curve.now?.x ?? min;
    return [Math.min(min, now), Math.max(max, now)];
  }

  private yRange(min: number, max: number): [number, number] {
    const now = this.curve.now?.y ?? min;
    const [low, high] = [Math.min(min, now), Math.max(max, now)];
    const size = Math.max(Math.abs(low), Math.abs(high));
    // The curve and the point are rounded differently; such a difference is not a slope.
    const steady = high - low < 1e-4 * size;
    const air = (steady ? size : high - low || 1) * 0.15;
    return [low - air, high + air];
  }

  private shadeDomain(u: uPlot): void {
    if (!this.curve.domain) return;
    const [left, right] = this.curve.domain.map((x) =>
      Math.min(Math.max(u.valToPos(x, "x", true), u.bbox.left), u.bbox.left + u.bbox.width),
    );
    u.ctx.save();
    u.ctx.fillStyle = ink("--domain");
    u.ctx.fillRect(left!, u.bbox.top, right! - left!, u.bbox.height);
    u.ctx.restore();
  }

  private markNow(u: uPlot): void {
    const now = this.curve.now;
    if (!now) return;
    const x = u.valToPos(now.x, "x", true);
    u.ctx.save();
    u.ctx.strokeStyle = ink("--ink");
    u.ctx.lineWidth = devicePixelRatio;
    u.ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    u.ctx.beginPath();
    u.ctx.moveTo(x, u.bbox.top);
    u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
    u.ctx.stroke();
    if (now.y !== null) dot(u.ctx, x, u.valToPos(now.y, "y", true));
    u.ctx.restore();
  }
}

function dot(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.fillStyle = ink("--ink");
  context.beginPath();
  context.arc(x, y, 4.5 * devicePixelRatio, 0, 2 * Math.PI);
  context.fill();
}
