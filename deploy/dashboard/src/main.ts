/** The page: messages go into the fleet, and the view in the address shows the fleet. */

import "./language";
import "uplot/dist/uPlot.min.css";
import { brokerAddress, loadCredentials } from "./address";
import { decodeAnswer } from "./answer";
import { decodeConsensus, type Consensus } from "./consensus";
import { Broker, type Link, type Message } from "./broker";
import { agentOf, Fleet, idOf, type Sensor } from "./fleet";
import { History } from "./history";
import { limitsChoice, limitsOf } from "./limits";
import { sensorIn } from "./routes";
import { decodeScore } from "./score";
import { verdict, type Verdict } from "./verdict";
import { connection, LINK_WORDS } from "./views/connection";
import { footer } from "./views/footer";
import { overview } from "./views/overview";
import { sensorView } from "./views/sensor";
import type { View } from "./views/view";
import { decodeCard, decodeEstimate, decodeHealth, decodeStatus, subjectOf, type Estimate } from "./wire";
import { h, say } from "./dom";
import { plural } from "./words";

const TICK_MS = 1_000;
const DRAW_MS = 200;

const fleet = new Fleet();
const address = brokerAddress(new URL(location.href));
const credentials = loadCredentials(sessionStorage, address);
const broker = new Broker(address, credentials, onLink, onMessage);
const history = new History(broker, crypto.getRandomValues(new Uint32Array(1))[0]!.toString(16));
const head = connection(address, credentials);
const main = document.querySelector("main")!;
const unread = h("p");
let link: Link = { state: "connecting", sinceMs: Date.now(), why: "" };
let view: View = overview(fleet);
let limits = limitsOf(limitsChoice(new URL(location.href)));
let drawing = false;
let drawnMs = -DRAW_MS;
let unreadable = 0;

function onLink(next: Link): void {
  link = next;
  if (link.state === "live") history.startOver();
  redraw();
}

function onMessage({ topic, payload, retained }: Message): void {
  if (payload.length === 0) withdraw(topic);
  else if (!take(topic, payload, retained)) unreadable += 1;
  redraw();
}

/** An empty payload clears a retained message, and its subject leaves the page. */
function withdraw(topic: string): void {
  const subject = subjectOf(topic);
  if (subject?.kind === "card" && fleet.sensors.has(idOf(subject.agent, subject.sensor))) fleet.setCard(subject.agent, subject.sensor, null);
  if (subject?.kind === "score" && fleet.sensors.has(idOf(subject.agent, subject.sensor))) fleet.setScore(subject.agent, subject.sensor, null);
  if (subject?.kind === "latestConsensus") fleet.dropConsensus(subject.agent);
  if (subject?.kind === "latest") fleet.dropSensor(subject.agent, subject.sensor);
  if (subject?.kind === "status" || subject?.kind === "health") fleet.clear(subject.agent, subject.kind);
}

/** Whether the message follows the contract. */
function take(topic: string, payload: Uint8Array, retained: boolean): boolean {
  const nowMs = Date.now();
  const subject = subjectOf(topic);
  switch (subject?.kind) {
    case "estimate":
      return accept(decodeEstimate(payload, subject.agent, subject.sensor), (estimate) => takeEstimate(estimate, !retained, nowMs));
    // An agent publishes this again on every connection, however old: it does not show that the sensor is alive.
    case "latest":
      return accept(decodeEstimate(payload, subject.agent, subject.sensor), (estimate) => takeEstimate(estimate, false, nowMs));
    case "card":
      return accept(decodeCard(payload, subject.sensor), (card) => fleet.setCard(subject.agent, subject.sensor, card));
    case "score":
      return accept(decodeScore(payload, subject.agent, subject.sensor), (score) => fleet.setScore(subject.agent, subject.sensor, score));
    case "consensus":
      return accept(decodeConsensus(payload, subject.agent), (consensus) => takeConsensus(consensus, !retained, nowMs));
    case "latestConsensus":
      return accept(decodeConsensus(payload, subject.agent), (consensus) => takeConsensus(consensus, false, nowMs));
    case "status":
      return accept(decodeStatus(payload), (status) => takeStatus(subject.agent, status, nowMs, retained));
    case "health":
      return accept(decodeHealth(payload), (health) => fleet.setHealth(subject.agent, health, retained ? null : nowMs));
    case "answer":
      return accept(decodeAnswer(payload), (answer) => {
        const found = history.take(answer, nowMs);
        if (found) takePast(found);
      });
    default:
      return false;
  }
}

function accept<T>(value: T | null, use: (value: T) => void): boolean {
  if (value !== null) use(value);
  return value !== null;
}

function takeEstimate(estimate: Estimate, news: boolean, nowMs: number): void {
  fleet.addEstimate(estimate, news ? nowMs : null);
  const agent = fleet.agents.get(estimate.agent);
  if (agent?.status !== "offline" && fleet.sensors.has(idOf(estimate.agent, estimate.sensor))) history.want(estimate, estimate.sensor, nowMs);
}

function takeConsensus(consensus: Consensus, news: boolean, nowMs: number): void {
  fleet.addConsensus(consensus, news ? nowMs : null);
  const agent = fleet.agents.get(consensus.agent);
  if (agent && agent.status !== "offline") history.want(consensus, null, nowMs);
}

/** Not of a sensor that was taken out of service, or a consensus that was switched off, since it was asked for. */
function takePast(found: Estimate | Consensus): void {
  if (!("sensor" in found)) {
    if (fleet.agents.get(found.agent)?.agreed.newest) fleet.addConsensus(found, null);
  } else if (fleet.sensors.has(idOf(found.agent, found.sensor))) fleet.addEstimate(found, null);
}

function askPast(sensor: Sensor, spanMs: number): void {
  if (sensor.newest && agentOf(fleet, sensor)?.status !== "offline") history.want(sensor.newest, sensor.name, Date.now(), spanMs);
}

function takeStatus(agent: string, status: "online" | "offline", nowMs: number, retained: boolean): void {
  if (status === "offline") history.forget(agent, nowMs);
  fleet.setStatus(agent, status, retained ? null : nowMs);
}

function route(): void {
  const sensor = sensorIn(location.hash);
  view = sensor === null ? overview(fleet) : sensorView(fleet, sensor, askPast);
  main.replaceChildren(view.root);
  draw();
  scrollTo(0, 0);
}

/** Draw, but not more than five times a second: a month comes as thousands of messages. */
function redraw(): void {
  if (drawing) return;
  drawing = true;
  const waitMs = Math.max(0, drawnMs + DRAW_MS - performance.now());
  setTimeout(() => {
    drawing = false;
    drawnMs = performance.now();
    draw();
  }, waitMs);
}

function draw(): void {
  // While disconnected, time stands still: otherwise every sensor would become stale.
  const now = verdict(fleet, (link.state === "live" ? Date.now() : link.sinceMs) + fleet.skewMs, limits);
  title(now);
  if (document.hidden) return;
  head.update(link, Date.now(), fleet.skewMs);
  view.update({ nowMs: Date.now() + fleet.skewMs, link, verdict: now });
  say(unread, unreadable > 0 ? `${plural(unreadable, "message")} could not be read.` : "");
}

function title({ troubles }: Verdict): void {
  const count = troubles.length > 0 ? `(${troubles.length}) ` : "";
  const heard = link.state === "live" || link.state === "connecting";
  document.title = (heard ? count : `${LINK_WORDS[link.state]} · `) + view.title;
}

document.querySelector("#top")!.append(...head.head);
document
  .querySelector("#foot")!
  .append(
    ...footer(address, (choice) => {
      limits = limitsOf(choice);
      draw();
    }),
    unread,
  );
document.querySelector(".skip")!.addEventListener("click", (event) => {
  event.preventDefault(); // the hash is the route
  main.focus();
});
addEventListener("hashchange", () => {
  route();
  view.heading.focus({ preventScroll: true });
});
setInterval(() => {
  history.tick(Date.now());
  draw();
}, TICK_MS);
route();
broker.connect();
