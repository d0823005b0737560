/** Shared by the charts: colours from the style sheet, axes, and the width. */

import uPlot from "uplot";

/** The value of a CSS custom property now, so that charts follow the light and dark scheme. */
export function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export const FONT = '12px "Inter Variable", system-ui, sans-serif';

export function axis(overrides: uPlot.Axis): uPlot.Axis {
  return {
    font: FONT,
    stroke: () => ink("--muted"),
    grid: { stroke: () => ink("--rule"), width: 1 },
    ticks: { show: false },
    gap: 6,
    ...overrides,
  };
}

const live = new Set<uPlot>();

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redrawAll());
void document.fonts.ready.then(() => redrawAll());

function redrawAll(): void {
  for (const chart of live) chart.redraw(false);
}

/** A chart as wide as its place. It is destroyed when the place leaves the page. */
export function plot(
  place: HTMLElement,
  height: number,
  options: Omit<uPlot.Options, "width" | "height">,
  data: uPlot.AlignedData,
): uPlot {
  const chart = new uPlot({ ...options, width: place.clientWidth || 320, height }, data, place);
  chart.root.setAttribute("aria-hidden", "true");
  live.add(chart);
  const watch = new ResizeObserver(() => {
    if (!place.isConnected) {
      watch.disconnect();
      live.delete(chart);
      chart.destroy();
    } else if (place.clientWidth > 0 && place.clientWidth !== chart.width) {
      chart.setSize({ width: place.clientWidth, height });
    }
  });
  watch.observe(place);
  return chart;
}
