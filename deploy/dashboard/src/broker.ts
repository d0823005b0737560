/** The connection to the broker: the only file that knows mqtt.js. */

import mqtt, { type MqttClient } from "mqtt";
import { addressFault, type Credentials } from "./address";
import type { Line, Request } from "./history";
import { SUBSCRIPTIONS } from "./wire";
import { listed } from "./words";

const RETRY_MS = 2_000;
const CONNECT_MS = 8_000;
const KEEPALIVE_S = 15;
/** CONNACK codes of MQTT 3.1.1: bad user name or password, not authorised. */
const REFUSED = [4, 5];
/** SUBACK codes from here on are failures. */
const SUBSCRIPTION_FAILED = 128;

export interface Link {
  state: "connecting" | "live" | "unreached" | "lost" | "refused" | "unusable";
  sinceMs: number;
  why: string;
}

export interface Message {
  topic: string;
  payload: Uint8Array;
  retained: boolean;
}

export class Broker implements Line {
  private client: MqttClient | null = null;
  private link: Link;

  constructor(
    readonly address: string,
    private readonly credentials: Credentials | null,
    private readonly onLink: (link: Link) => void,
    private readonly onMessage: (message: Message) => void,
  ) {
    this.link = { state: "connecting", sinceMs: Date.now(), why: "" };
  }

  connect(): void {
    const fault = addressFault(this.address);
    if (fault) return this.become("unusable", fault);
    this.become("connecting");
    try {
      this.client = this.dial();
    } catch (error) {
      // Browsers refuse unsafe ports, and ws from a page served over https.
      return this.become("unusable", `the browser reports: ${(error as Error).message.replace(/\.$/, "")}`);
    }
    this.listen(this.client);
  }

  private dial(): MqttClient {
    return mqtt.connect(this.address, {
      ...this.credentials,
      // amqtt, the demo's fallback broker, has no MQTT 5.
      protocolVersion: 4,
      clientId: `respire-dashboard-${crypto.getRandomValues(new Uint32Array(1))[0]!.toString(16)}`,
      keepalive: KEEPALIVE_S,
      reconnectPeriod: RETRY_MS,
      connectTimeout: CONNECT_MS,
      resubscribe: false,
      queueQoSZero: false,
    });
  }

  ask(request: Request): void {
    const { id, agent, sensor, query } = request;
    this.subscribe([answerTopic(request)], () =>
      this.client?.publish(`respire/${agent}/request`, JSON.stringify({ id, ...(sensor === null ? { what: "consensus" } : { sensor }), ...query }), { qos: 1 }),
    );
  }

  hangUp(request: Request): void {
    this.client?.unsubscribe(answerTopic(request));
  }

  private listen(client: MqttClient): void {
    client.on("connect", () => {
      this.become("live");
      this.subscribe(SUBSCRIPTIONS);
    });
    client.on("close", () => {
      if (client.disconnecting || this.link.state === "lost" || this.link.state === "unreached") return;
      this.become(this.link.state === "connecting" ? "unreached" : "lost");
    });
    client.on("message", (topic, payload, packet) => this.onMessage({ topic, payload, retained: packet.retain }));
    client.on("error", (error) => {
      if ("code" in error && REFUSED.includes(Number(error.code))) this.refuse(client);
    });
  }

  /** A refused subscription is a refused connection. One that failed because the connection was lost is not. */
  private subscribe(topics: string[], granted?: () => void): void {
    this.client?.subscribe(topics, { qos: 1 }, (error, _, answer) => {
      const refused = topics.filter((_topic, i) => Number(answer?.granted[i]) >= SUBSCRIPTION_FAILED);
      if (refused.length > 0) this.become("refused", `this user may not read ${listed(refused)}`);
      else if (!error) granted?.();
    });
  }

  /** No retry: the same password would be refused again. */
  private refuse(client: MqttClient): void {
    client.end(true);
    this.become("refused", this.credentials ? "the user or password is wrong" : "it needs a user and password");
  }

  private become(state: Link["state"], why = ""): void {
    this.link = { state, sinceMs: Date.now(), why };
    this.onLink(this.link);
  }
}

function answerTopic({ agent, id }: Request): string {
  return `respire/${agent}/response/${id}`;
}
