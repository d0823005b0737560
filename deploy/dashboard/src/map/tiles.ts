/** Pictures of a tile server under the track, if the page was built with one. Tiles are in Web Mercator. */

import type { Place, Projection } from "./project";

const TILE = 256;
const MOST_ZOOM = 19;
const EARTH_METRES = 40_075_017;

export interface Tile {
  href: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The tiles that cover a map, each drawn at 256 to 512 of its units. `template` has {z}, {x} and {y}. */
export function tilesFor(template: string, on: Projection, width: number, height: number): Tile[] {
  const [first, last] = [on.place(0, 0), on.place(width, height)];
  const zoom = zoomOf(on, (first.lat + last.lat) / 2);
  const count = 2 ** zoom;
  const [left, right] = [column(first, count), column({ ...last, lon: first.lon + eastward(first, last) }, count)];
  const [top, bottom] = [row(first, count), row(last, count)];
  return range(top, bottom).flatMap((y) => range(left, right).map((x) => tileAt(template, on, zoom, x, y)));
}

function zoomOf({ scale }: Projection, lat: number): number {
  const units = EARTH_METRES * Math.cos((lat * Math.PI) / 180) * scale;
  return Math.min(MOST_ZOOM, Math.max(0, Math.floor(Math.log2(units / TILE))));
}

function tileAt(template: string, on: Projection, zoom: number, x: number, y: number): Tile {
  const count = 2 ** zoom;
  const [from, to] = [corner(x, y, count), corner(x + 1, y + 1, count)];
  const names: Record<string, number> = { z: zoom, x: ((x % count) + count) % count, y };
  const href = template.replace(/\{([zxy])\}/g, (_, name: string) => String(names[name]));
  return { href, x: on.x(from), y: on.y(from), width: on.x(to) - on.x(from), height: on.y(to) - on.y(from) };
}

/** How many degrees `to` is east of `from`, also across the date line. */
function eastward(from: Place, to: Place): number {
  return (((to.lon - from.lon) % 360) + 360) % 360;
}

function column({ lon }: Place, count: number): number {
  return Math.floor(((lon + 180) / 360) * count);
}

function row({ lat }: Place, count: number): number {
  const share = (1 - Math.asinh(Math.tan((lat * Math.PI) / 180)) / Math.PI) / 2;
  return Math.min(count - 1, Math.max(0, Math.floor(share * count)));
}

/** The north-west corner of a tile. */
function corner(x: number, y: number, count: number): Place {
  return { lon: (x / count) * 360 - 180, lat: (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / count))) * 180) / Math.PI };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
}
