/** A small map of the world with a dot: roughly where a van is. The outlines are Natural Earth's, in the public domain. */

import { feature } from "topojson-client";
import land from "world-atlas/land-110m.json";
import { svg } from "../dom";
import type { Place } from "./project";

const WIDTH = 120;
const HEIGHT = 60;

export function worldInset({ lat, lon }: Place): SVGElement {
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Where on Earth the van is" },
    svg("rect", { width: `${WIDTH}`, height: `${HEIGHT}`, rx: "3" }),
    svg("path", { d: outlines() }),
    svg("circle", { cx: x(lon), cy: y(lat), r: "3" }),
  );
}

let drawn: string | null = null;

function outlines(): string {
  drawn ??= rings().map(path).join("");
  return drawn;
}

/** A ring that crosses the date line goes on at the other edge, without a line across the map. */
function path(ring: number[][]): string {
  return ring.map(([lon, lat], i) => `${i === 0 || Math.abs(lon! - ring[i - 1]![0]!) > 180 ? "M" : "L"}${x(lon!)} ${y(lat!)}`).join("");
}

function rings(): number[][][] {
  const topology = land as unknown as Parameters<typeof feature>[0];
  const shape = feature(topology, topology.objects.land!);
  const features = "features" in shape ? shape.features : [shape];
  return features.flatMap(({ geometry }) => (geometry.type === "MultiPolygon" ? geometry.coordinates.flat() : []));
}

function x(lon: number): string {
  return (((lon + 180) / 360) * WIDTH).toFixed(1);
}

function y(lat: number): string {
  return (((90 - lat) / 180) * HEIGHT).toFixed(1);
}
