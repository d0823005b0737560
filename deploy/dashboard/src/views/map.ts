/** Where the van was: its track, with the level of the air in each window. Shown where positions are published. */

import { AIR_WORDS, levelAlone, type AirLevel } from "../air";
import { h, refill, show, svg } from "../dom";
import type { Sensor } from "../fleet";
import { fit, scaleBar, type Projection } from "../map/project";
import { tilesFor, type Tile } from "../map/tiles";
import { worldInset } from "../map/world";
import type { Limit } from "../limits";
import type { Estimate } from "../wire";
import { clockTime, dayAndMonth, plural, valueOf } from "../words";
import type { Section } from "./view";

/** The map is drawn in the pixels of its place, up to this width, so that names stay readable on a phone. */
const MOST_WIDTH = 640;
const LEAST_WIDTH = 320;
const SHAPE = 0.7;
const MARGIN = 48;
const LEVELS: AirLevel[] = [0, 1, 2, 3];
/** A worse level is a larger dot, so that it is seen without colours. */
const RADIUS: Record<AirLevel, number> = { 0: 4, 1: 5.5, 2: 7, 3: 9 };

/** Set when the page is built; without them no request leaves the page. */
const { VITE_TILES: TILES = "", VITE_TILES_BY: TILES_BY = "" } = import.meta.env;

type Placed = Estimate & { position: NonNullable<Estimate["position"]> };

export function mapSection(sensor: Sensor): Section {
  const place = h("div", { class: "map-place" });
  const words = h("p", { class: "newest" });
  const inset = h("div", { class: "world" });
  const root = h("section", { class: "map", "aria-label": "Map" }, h("h2", {}, "Where it was measured"), words, place, h("p", { class: "tiles-by" }, TILES_BY), h("div", { class: "map-foot" }, legend(), inset));
  return {
    root,
    update({ verdict }) {
      const placed = sensor.windows.filter((window): window is Placed => window.position !== null);
      const limits = verdict.air.get(sensor)?.averages.map(({ limit }) => limit) ?? [];
      show(root, placed.length > 0);
      refill(place, placed.length > 0 && JSON.stringify([sensor.newest?.seq, placed.length, limits]), () => {
        words.textContent = trackInWords(placed);
        inset.replaceChildren(...placed.slice(-1).map(({ position }) => worldInset(position)));
        return placed.length > 0 ? [drawing(placed, limits, place.clientWidth)] : [];
      });
    },
  };
}

function drawing(placed: Placed[], limits: Limit[], room: number): SVGElement {
  const width = Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, room));
  const height = Math.round(width * SHAPE);
  const on = fit(placed.map(({ position }) => position), width, height, MARGIN);
  const points = placed.map(({ position }) => `${on.x(position).toFixed(1)},${on.y(position).toFixed(1)}`);
  const worstLast = [...placed].sort((a, b) => levelAlone(a, limits) - levelAlone(b, limits));
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": trackInWords(placed) },
    ...(TILES ? tilesFor(TILES, on, width, height).map(image) : []),
    svg("polyline", { class: "way", points: points.join(" ") }),
    ...worstLast.map((window) => dot(window, on, levelAlone(window, limits))),
    ...siteLabels(placed, on, width),
    bar(on, height),
    svg("text", { class: "north", x: `${width - 20}`, y: "24" }, "N ↑"),
  );
}

function image({ href, x, y, width, height }: Tile): SVGElement {
  const box = { x: x.toFixed(2), y: y.toFixed(2), width: width.toFixed(2), height: height.toFixed(2) };
  return svg("image", { class: "tile", href, ...box, preserveAspectRatio: "none" });
}

function dot(window: Placed, on: Projection, level: AirLevel): SVGElement {
  const value = window.value === null ? "no value" : `${valueOf(window)} ${window.unit}`;
  const title = `${dayAndMonth(window.startMs)}, ${clockTime(window.startMs)}: ${value}${window.site ? `, ${window.site}` : ""}`;
  const attributes = {
    class: window.value === null ? "spot empty" : "spot",
    "data-air": `${level}`,
    cx: on.x(window.position).toFixed(1),
    cy: on.y(window.position).toFixed(1),
    r: `${RADIUS[level]}`,
  };
  return svg("circle", attributes, svg("title", {}, title));
}

/** The name of each site, beside the last window there, on the side with more room. */
function siteLabels(placed: Placed[], on: Projection, width: number): SVGElement[] {
  const stops = new Map(placed.flatMap((window) => (window.site === null ? [] : [[window.site, window] as const])));
  return [...stops].map(([site, { position }]) => {
    const [x, isRight] = [on.x(position), on.x(position) > width / 2];
    const place = { x: (isRight ? x - 12 : x + 12).toFixed(1), y: (on.y(position) - 9).toFixed(1) };
    return svg("text", { class: "site", ...place, "text-anchor": isRight ? "end" : "start" }, site);
  });
}

function bar(on: Projection, height: number): SVGElement {
  const { metres, length } = scaleBar(on, 120);
  const words = metres >= 1000 ? `${metres / 1000} km` : `${metres} m`;
  return svg(
    "g",
    { class: "scale", transform: `translate(16 ${height - 16})` },
    svg("path", { d: `M0 -6V0H${length.toFixed(1)}V-6` }),
    svg("text", { x: "4", y: "-6" }, words),
  );
}

function legend(): HTMLElement {
  const items = LEVELS.map((level) =>
    h("li", {}, svg("svg", { viewBox: "-10 -10 20 20", "aria-hidden": "true" }, svg("circle", { class: "spot", "data-air": `${level}`, r: `${RADIUS[level]}` })), AIR_WORDS[level]),
  );
  return h("ul", { class: "map-legend", "aria-label": "Level of a single window" }, ...items);
}

/** "84 windows of the last day, at Harbour and 1 other site". */
function trackInWords(placed: Placed[]): string {
  const sites = [...new Set(placed.flatMap(({ site }) => site ?? []))];
  const most = placed.reduce<Placed | null>((top, window) => ((window.value ?? -Infinity) > (top?.value ?? -Infinity) ? window : top), null);
  const at = sites.length === 0 ? "" : `, at ${plural(sites.length, "site")}: ${sites.slice(0, 5).join(", ")}`;
  const top = most?.value == null ? "" : ` The highest was ${valueOf(most)} ${most.unit} at ${clockTime(most.startMs)}${most.site ? `, ${most.site}` : ""}.`;
  return `${plural(placed.length, "window")} of the last day with a position${at}.${top}`;
}
