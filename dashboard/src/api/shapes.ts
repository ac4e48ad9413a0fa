import type { components } from "./interface.generated.ts";

type Schemas = components["schemas"];
export type Target = Schemas["Target"];
export type NewTarget = Schemas["NewTarget"];
export type TargetChanges = Schemas["TargetChanges"];
export type ItemEvent = Schemas["Event"];
export type Attempt = Schemas["DeliveryAttempt"];
export type Handoff = Schemas["Handoff"];
export type ReplayJob = Schemas["ReplayJob"];
export type Erasure = Schemas["Erasure"];
export type NotificationTarget = Schemas["NotificationTarget"];
export type ApiKey = Schemas["ApiKey"];
export type Message = Schemas["MessageSummary"];
export type ReadMessage = Omit<Schemas["Message"], "payload">;
export type MailboxStats = Schemas["MailboxStats"];
export type Organization = Schemas["Organization"];
export type Status = Schemas["EventSummary"]["status"];
