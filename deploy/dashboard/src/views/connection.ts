/** The connection: its state in the header, a sentence when it is lost, and the form to change it. */

import { keepCredentials, type Credentials } from "../address";
import type { Link } from "../broker";
import { h, say } from "../dom";
import { span, when } from "../words";

export const LINK_WORDS: Record<Link["state"], string> = {
  connecting: "Connecting",
  live: "Live",
  unreached: "No connection",
  lost: "Disconnected",
  refused: "Refused",
  unusable: "No address",
};

export function connection(
  address: string,
  kept: Credentials | null,
): { head: HTMLElement[]; update(link: Link, nowMs: number, skewMs: number): void } {
  const form = dialog(address, kept);
  const word = h("span");
  const button = h(
    "button",
    { type: "button", class: "link", onclick: () => form.showModal() },
    h("span", { class: "dot", "aria-hidden": "true" }),
    word,
    h("span", { class: "aside" }, ", connection settings"),
  );
  const notice = h("p", { class: "notice", role: "status" });
  const bar = h("div", { class: "bar-top" }, h("a", { class: "brand", href: "#/" }, "RESPIRE"), button);
  return {
    head: [bar, notice, form],
    update(link, nowMs, skewMs) {
      button.dataset.state = link.state;
      document.documentElement.dataset.link = link.state;
      say(word, LINK_WORDS[link.state]);
      say(notice, noticeInWords(address, link, nowMs) || skewInWords(skewMs));
    },
  };
}

function noticeInWords(address: string, link: Link, nowMs: number): string {
  if (link.state === "unreached")
    return `${address} cannot be reached. Check the address, and that the broker has a WebSockets listener on this port. Trying again every few seconds.`;
  if (link.state === "lost")
    return `Disconnected from ${address} since ${when(link.sinceMs, nowMs)}. The page shows the last values it received. Trying again every few seconds.`;
  if (link.state === "refused") return `${address} refused access: ${link.why}. Open the connection settings to sign in.`;
  if (link.state === "unusable") return `${address} cannot be used: ${link.why}.`;
  return "";
}

function skewInWords(skewMs: number): string {
  if (skewMs === 0) return "";
  return `This device’s clock is ${span(Math.abs(skewMs) / 1000)} ${skewMs > 0 ? "slow" : "fast"}. Ages on this page use the van’s clock.`;
}

function dialog(address: string, kept: Credentials | null): HTMLDialogElement {
  const broker = h("input", {
    name: "broker",
    required: true,
    value: address,
    spellcheck: "false",
    autocapitalize: "off",
  });
  // Browsers store passwords by page, not by broker: a link to another broker must not get them filled in.
  const linked = new URL(location.href).searchParams.has("broker");
  const [user, current] = linked ? ["off", "off"] : ["username", "current-password"];
  const username = h("input", { name: "username", value: kept?.username ?? "", autocomplete: user });
  const password = h("input", { name: "password", type: "password", autocomplete: current });
  const element = h("dialog", { "aria-label": "Connection" });
  const submit = (event: Event) => {
    event.preventDefault();
    const unchanged = kept?.username === username.value && broker.value === address && password.value === "";
    if (!unchanged)
      keepCredentials(sessionStorage, broker.value, { username: username.value, password: password.value });
    listenTo(broker.value);
  };
  const forget = () => {
    keepCredentials(sessionStorage, address, { username: "", password: "" });
    listenTo(address);
  };
  const form = h(
    "form",
    { onsubmit: submit },
    h("h2", {}, "Connection"),
    h("label", {}, "Broker (WebSockets)", broker),
    h("label", {}, "User, if the broker needs one", username),
    h("label", {}, kept ? "Password, kept in this tab; leave empty to keep it" : "Password, kept in this tab only", password),
    h(
      "div",
      { class: "actions" },
      kept ? h("button", { type: "button", class: "forget", onclick: forget }, "Forget") : null,
      h("button", { type: "button", onclick: () => element.close() }, "Cancel"),
      h("button", { class: "primary" }, "Connect"),
    ),
  );
  element.append(form);
  return element;
}

function listenTo(broker: string): void {
  const page = new URL(location.href);
  page.searchParams.set("broker", broker);
  if (page.href === location.href) location.reload();
  else location.href = page.href;
}
