/** The past of one sensor: estimates with their interval, gaps, and flags; a part of it when zoomed. */

import uPlot from "uplot";
import { DAY_MS } from "../fleet";
import type { Estimate } from "../wire";
import { brief, clockTime, dayOrTime } from "../words";
import { columns, runs, type Gap } from "./columns";
import { listen, type Hands } from "./gestures";
import { axis, ink, plot } from "./ink";
import { drawLines, withLowest, type Line } from "./lines";
import { drawOthers, extentOf, type Other } from "./others";
import { drawEmpty, drawRuns } from "./runs";
import { Zoom, type Range } from "./zoom";

const HEIGHT = 260;
/** What one press of a zoom button or key does. */
const STEP = 2;

/** The window or gap under the cursor, and its index. */
export interface Reading {
  index: number;
  of: number;
  slot: Estimate | Gap;
}

export class DayChart implements Hands {
  private readonly zoom = new Zoom();
  private chart: uPlot | null = null;
  private windows: Estimate[] = [];
  private slots: (Estimate | Gap)[] = [];
  private runs: Estimate[][] = [];
  private lines: Line[] = [];
  private others: Other[] = [];
  private spanMs = DAY_MS;
  /** After a touch the browser sends mouse events, too; they must not move or clear the cursor. */
  private touched = false;
  /** Start of the slot chosen with the keyboard or a finger. It stays chosen when newer windows shift the chart. */
  private chosenMs: number | null = null;

  constructor(
    private readonly place: HTMLElement,
    private readonly onRead: (reading: Reading | null) => void,
    private readonly onZoom: (shown: Range, zoomed: boolean) => void,
  ) {
    place.addEventListener("keydown", (event) => this.press(event));
    place.addEventListener("pointermove", (event) => this.hover(event));
    place.addEventListener("dblclick", () => this.showAll());
    listen(place, () => this.chart?.over.getBoundingClientRect().left ?? 0, this);
    place.addEventListener("blur", () => {
      this.chosenMs = null;
      this.chart?.setCursor({ left: -10, top: -10 });
    });
  }

  update(windows: Estimate[], lines: Line[], spanMs = DAY_MS, others: Other[] = []): void {
    if (spanMs !== this.spanMs) this.zoom.reset();
    this.spanMs = spanMs;
    this.lines = lines;
    this.others = others;
    const { data, slots } = columns(windows);
    this.windows = windows;
    this.slots = slots;
    this.runs = runs(windows);
    this.chart ??= plot(this.place, HEIGHT, this.options(), data);
    this.chart.setData(data);
    // uPlot sets its scales in a microtask, too.
    queueMicrotask(() => this.read(this.chosen()));
    this.onZoom(this.shown(), this.zoom.active);
  }

  zoomIn(): void {
    this.scale(1 / STEP);
  }

  zoomOut(): void {
    this.scale(STEP);
  }

  /** Move by half of what is visible, to later times or (-1) to earlier ones. */
  pan(direction: 1 | -1): void {
    this.zoom.pan(this.whole(), direction / 2);
    this.rescale();
  }

  showAll(): void {
    this.zoom.reset();
    this.rescale();
  }

  /** Windows drawn with a value. */
  get points(): number {
    return this.windows.filter((window) => window.value !== null).length;
  }

  private options(): Omit<uPlot.Options, "width" | "height"> {
    return {
      legend: { show: false },
      padding: [12, 22, 0, 0],
      cursor: {
        y: false,
        drag: { x: false, y: false },
        bind: { mousedown: this.unlessTouched, mousemove: this.unlessTouched, mouseup: this.unlessTouched, mouseleave: this.unlessTouched },
        points: { size: 9, fill: (_, series) => pointInk(series, "--accent"), stroke: (_, series) => pointInk(series, "--paper") },
      },
      scales: { x: { time: true, range: () => this.xRange() }, y: { range: (_, min, max) => this.yRange(min, max) } },
      axes: [
        axis({
          size: 30,
          space: 64,
          values: (_, ticks) => ticks.map((s) => (this.shownMs() > DAY_MS ? dayOrTime(s * 1000) : clockTime(s * 1000))),
          grid: { show: false },
        }),
        axis({ size: 44, space: 36, values: (_, ticks) => ticks.map((v) => brief(v)) }),
      ],
      // The first three only set the scale. drawRuns() draws them: uPlot's own line has a stub at every gap.
      series: [
        {},
        ...Array.from({ length: 3 }, () => ({ paths: () => null, points: { show: false } })),
        {
          stroke: "transparent",
          points: { show: true, size: 9, width: 2, fill: () => ink("--paper"), stroke: () => ink("--alert") },
        },
      ],
      hooks: {
        drawClear: [(u) => drawEmpty(u, this.windows)],
        drawAxes: [(u) => drawLines(u, this.lines), (u) => drawRuns(u, this.runs, this.zoom.active), (u) => drawOthers(u, this.others, this.zoom.active)],
        setCursor: [(u) => this.tell(this.chosen() ?? u.cursor.idx ?? null)],
      },
    };
  }

  /** The scale includes zero, every interval and the lowest limit if that is near, with a margin. */
  private yRange(min: number | null, max: number | null): [number, number] {
    const [least, most] = extentOf(this.others, this.shown()) ?? [0, 0];
    const low = Math.min(0, min ?? 0, least);
    const high = withLowest(this.lines, Math.max(max ?? 1, most, low + 0.1));
    return [low < 0 ? low - (high - low) * 0.05 : 0, high + (high - low) * 0.08];
  }

  private readonly unlessTouched: uPlot.Cursor.MouseListenerFactory = (_, __, handler) => (event) =>
    this.touched ? null : handler(event);

  /** A mouse only points; what a key or a finger has chosen is then no longer chosen. */
  private hover(event: PointerEvent): void {
    this.touched = event.pointerType !== "mouse";
    if (!this.touched) this.chosenMs = null;
  }

  /** A finger chooses a window, which stays chosen. */
  tap(x: number, touch: boolean): void {
    this.touched = touch;
    if (touch && this.chart && this.slots.length > 0) this.read(this.chart.posToIdx(x));
  }

  marking(part: [number, number] | null): void {
    const [from, to] = part ?? [0, 0];
    const box = { left: Math.min(from, to), width: Math.abs(to - from), top: 0, height: part ? HEIGHT : 0 };
    this.chart?.setSelect(box, false);
  }

  select(from: number, to: number): void {
    this.zoom.select(this.whole(), this.timeAt(Math.min(from, to)), this.timeAt(Math.max(from, to)));
    this.rescale();
  }

  pinch(factor: number, before: number, now: number): void {
    const [from, to] = this.shown();
    const around = this.timeAt(now);
    this.zoom.scale(this.whole(), factor, around);
    this.zoom.pan(this.whole(), (this.timeAt(before) - around) / (to - from));
    this.rescale();
  }

  private scale(factor: number): void {
    const [from, to] = this.shown();
    const chosen = this.slots[this.chosen() ?? -1];
    this.zoom.scale(this.whole(), factor, chosen ? (chosen.startMs + chosen.endMs) / 2 : (from + to) / 2);
    this.rescale();
  }

  private rescale(): void {
    if (!this.chart) return;
    this.chart.setData(this.chart.data);
    queueMicrotask(() => this.read(this.chosen()));
    this.onZoom(this.shown(), this.zoom.active);
  }

  private timeAt(x: number): number {
    return this.chart ? this.chart.posToVal(x, "x") * 1000 : 0;
  }

  private whole(): Range {
    const endMs = this.windows.at(-1)?.endMs ?? Date.now();
    return [endMs - this.spanMs, endMs];
  }

  private shown(): Range {
    return this.zoom.visible(this.whole());
  }

  private shownMs(): number {
    const [from, to] = this.shown();
    return to - from;
  }

  private xRange(): [number, number] {
    const [from, to] = this.shown();
    return [from / 1000, to / 1000];
  }

  private press(event: KeyboardEvent): void {
    const acts: Record<string, () => void> = {
      "+": () => this.zoomIn(),
      "-": () => this.zoomOut(),
      "0": () => this.showAll(),
      PageUp: () => this.pan(-1),
      PageDown: () => this.pan(1),
    };
    const act = event.ctrlKey || event.metaKey ? undefined : acts[event.key];
    if (!act) return this.step(event);
    event.preventDefault();
    act();
  }

  private step(event: KeyboardEvent): void {
    const last = this.slots.length - 1;
    const from = this.chosen() ?? this.chart?.cursor.idx ?? null;
    const targets: Record<string, number> = {
      ArrowLeft: (from ?? last + 1) - 1,
      ArrowRight: (from ?? -1) + 1,
      Home: 0,
      End: last,
    };
    const to = targets[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.read(Math.min(last, Math.max(0, to)));
  }

  private chosen(): number | null {
    const index = this.slots.findIndex(({ startMs }) => startMs === this.chosenMs);
    return index < 0 ? null : index;
  }

  /** Choose a slot and put the cursor on it, which calls `tell`. */
  private read(index: number | null): void {
    if (index === null || !this.chart) return;
    this.chosenMs = this.slots[index]!.startMs;
    this.reveal(this.chart.data[0][index]! * 1000);
    this.chart.setCursor({ left: this.chart.valToPos(this.chart.data[0][index]!, "x"), top: 0 });
  }

  /** Bring a time into view that a zoom has hidden. */
  private reveal(atMs: number): void {
    const [from, to] = this.shown();
    if (atMs >= from && atMs <= to) return;
    this.zoom.pan(this.whole(), (atMs - (from + to) / 2) / (to - from));
    this.chart!.setData(this.chart!.data);
    this.onZoom(this.shown(), this.zoom.active);
  }

  private tell(index: number | null): void {
    const slot = this.slots[index ?? -1];
    this.onRead(slot ? { index: index!, of: this.slots.length, slot } : null);
  }
}

/** The cursor has a point on the value, and none on the ends of the interval, which are the first two series. */
function pointInk(series: number, colour: string): string {
  return series <= 2 ? "transparent" : ink(colour);
}
