/** The health of each van: connection, clock, waiting estimates, silent channels. */

import { h, refill } from "../dom";
import { sorted, type Agent, type Fleet } from "../fleet";
import { worst, type Level } from "../level";
import { offInWords } from "../off";
import { unreportedSinceMs } from "../verdict";
import type { Health } from "../wire";
import { ago, bytes, channelName, listed, plural, span } from "../words";
import { sayState } from "./mark";
import { sectionsOf, type Section } from "./view";

export function vanList(fleet: Fleet): Section {
  return sectionsOf(
    h("section", { class: "vans", "aria-label": "Vans" }),
    () => sorted(fleet.agents),
    (agent) => van(fleet, agent),
  );
}

function van(fleet: Fleet, agent: Agent): Section {
  const state = h("span", { class: "state" });
  const facts = h("dl", { class: "facts" });
  const root = h("article", { class: "van", "data-agent": agent.id }, h("h2", {}, agent.id, state), facts);
  return {
    root,
    update({ nowMs, link, verdict }) {
      const level = worst(verdict.problems.get(agent) ?? []);
      const unreported = unreportedSinceMs(fleet, agent, nowMs) !== null;
      const word = unreported ? "No report" : stateInWord(fleet, agent, level, nowMs);
      sayState(root, state, level, word, link);
      const rows = agent.health
        ? factsOf(agent.health, link.state === "live" && agent.status === "online" && !unreported, nowMs)
        : [["Health", "No report yet"] as Fact];
      refill(facts, JSON.stringify(rows), () => rows.map(fact));
    },
  };
}

function stateInWord(fleet: Fleet, agent: Agent, level: Level, nowMs: number): string {
  const { status } = agent;
  if (status === null) return "Unknown";
  if (status === "offline") return `O${offInWords(fleet, agent, nowMs).slice(1)}`;
  return level === "fine" ? "Online" : "Online, needs attention";
}

type Fact = [name: string, words: string, alert?: boolean];

export function fact([name, words, alert]: Fact): HTMLElement {
  return h("div", alert ? { class: "alert" } : {}, h("dt", {}, name), h("dd", {}, words));
}

/** The facts of a van that no longer reports are marked as the last known ones. */
function factsOf(health: Health, reporting: boolean, nowMs: number): Fact[] {
  const { outbox, readings } = health;
  const faults = faultsInWords(health);
  const known = (words: string) => (reporting ? words : `last known: ${words}`);
  return [
    ["Waiting to be sent", known(outboxInWords(outbox)), (outbox?.dropped ?? 0) > 0],
    ["Clock", known(health.clock ?? "unknown"), health.clock === "unsynchronised"],
    ["Channels", known(faults || "all reporting"), faults !== ""],
    ["Readings", readingsInWords(readings)],
    ["Version", health.version ?? "unknown"],
    ["Running for", !reporting || health.uptimeS === null ? "–" : span(health.uptimeS)],
    ["Memory", bytes(health.rssBytes)],
    ["Written to disk", bytes(health.writtenBytes)],
    ["Journal", bytes(health.journalBytes)],
    ["Last report", health.atMs === null ? "unknown" : ago(health.atMs, nowMs)],
  ];
}

function outboxInWords(outbox: Health["outbox"]): string {
  if (!outbox) return "unknown";
  const waiting = outbox.depth === 0 ? "nothing" : outbox.depth.toLocaleString("en-GB");
  const oldest = outbox.depth > 0 && (outbox.oldestS ?? 0) >= 60 ? `, oldest for ${span(outbox.oldestS!)}` : "";
  const dropped = outbox.dropped > 0 ? `, ${outbox.dropped.toLocaleString("en-GB")} dropped` : "";
  return waiting + oldest + dropped;
}

/** "too_late" → "too late". */
function words(code: string): string {
  return code.replaceAll("_", " ");
}

/** The accepted readings, then every other outcome that occurred. */
function readingsInWords(readings: Record<string, number>): string {
  const { accepted = 0, ...others } = readings;
  const notAccepted = Object.entries(others).filter(([, n]) => n > 0);
  return [plural(accepted, "accepted", "accepted"), ...notAccepted.map(([why, n]) => plural(n, words(why), words(why)))].join(", ");
}

function faultsInWords(health: Health): string {
  return Object.entries(health.sensors)
    .flatMap(([sensor, { silent, stuck }]) => [
      ...(silent.length > 0 ? [`${sensor} ${listed(silent.map(channelName))} silent`] : []),
      ...(stuck.length > 0 ? [`${sensor} ${listed(stuck.map(channelName))} stuck`] : []),
    ])
    .join("; ");
}
