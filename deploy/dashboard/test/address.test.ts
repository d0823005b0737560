import { expect, test } from "vitest";
import { addressFault, brokerAddress, keepCredentials, loadCredentials } from "../src/address";
import { sensorIn, sensorLink } from "../src/routes";

test.each([
  ["http://van.local:8000/", "ws://van.local:9001"],
  ["https://van.local/dash/", "wss://van.local:9001"],
  ["file:///dist/index.html", "ws://127.0.0.1:9001"],
  ["http://van.local/?broker=wss://broker.example:8884/mqtt", "wss://broker.example:8884/mqtt"],
])("%s listens to %s", (page, address) => {
  expect(brokerAddress(new URL(page))).toBe(address);
});

test.each([
  "http://van.local",
  "javascript:alert(1)",
  "van.local:9001",
  "",
  "ws://nosuch host",
  " ws://a",
  "ws://user:secret@van.local",
])("%s is no address", (address) => {
  expect(addressFault(address)).not.toBeNull();
});

test("a password is given only to the broker it was entered for", () => {
  const kept = new Map<string, string>();
  const store = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  } as unknown as Storage;
  keepCredentials(store, "ws://a", { username: "eva", password: "secret" });
  expect(loadCredentials(store, "ws://a")).toEqual({ username: "eva", password: "secret" });
  expect(loadCredentials(store, "ws://b")).toBeNull();
  keepCredentials(store, "ws://a", { username: "", password: "" });
  expect(kept.size).toBe(0);
});

test("any sensor id survives the address", () => {
  for (const id of ["5A2D", "<img src=x onerror=alert(1)>", "100 % ö?#"]) expect(sensorIn(sensorLink(id))).toBe(id);
  expect([sensorIn(""), sensorIn("#/"), sensorIn("#/sensor/%E0%A4%A")]).toEqual([null, null, null]);
});
