import type { AcceptedItem, Operations } from "./operations.generated.ts";
import { type Schema, validate } from "./standardSchema.ts";

/** An event with one of the event types, and the payload type that belongs to it. */
export type TypedEvent<Payloads> = {
  [Type in keyof Payloads & string]: { type: Type; payload: Payloads[Type] };
}[keyof Payloads & string];

/** Sends and reads events of the given event types only. */
export interface TypedEvents<Payloads> {
  /**
   * Sends an item of this type, with `X-Event-Type`.
   * @throws {SchemaError} before anything is sent, when there is a schema and the payload violates it.
   */
  send<Type extends keyof Payloads & string>(
    client: Pick<Operations, "sendItem">,
    targetId: string,
    item: { type: Type; payload: Payloads[Type] } & SendOptions,
  ): Promise<AcceptedItem>;
  /**
   * Returns the received event with its type and payload; undefined for any other event type.
   * @throws {SchemaError} when the payload violates the schema of its type.
   */
  read(received: { eventType: string | null; payload: unknown }): Promise<TypedEvent<Payloads> | undefined>;
}

type SendOptions = Omit<NonNullable<Parameters<Operations["sendItem"]>[2]>, "eventType">;

type PayloadsOf<Schemas> = {
  [Type in keyof Schemas]: Schemas[Type] extends Schema<infer Payload> ? Payload : never;
};

/** Defines event types by their schemas, which check the payloads of sent and of received events. */
export function defineEvents<Schemas extends Record<string, Schema>>(
  schemas: Schemas,
): TypedEvents<PayloadsOf<Schemas>>;
/** Defines event types by a TypeScript type only: the compiler checks sent payloads, and received ones are not checked. */
export function defineEvents<Payloads>(types: readonly (keyof Payloads & string)[]): TypedEvents<Payloads>;
export function defineEvents<Payloads>(
  known: Readonly<Record<string, Schema>> | readonly string[],
): TypedEvents<Payloads> {
  const schemas = new Map<string, Schema | undefined>(
    Array.isArray(known) ? known.map((type: string) => [type, undefined]) : Object.entries(known),
  );
  const check = async (type: string, payload: unknown): Promise<unknown> => {
    const schema = schemas.get(type);
    return schema === undefined ? payload : validate(schema, payload);
  };
  return {
    async send(client, targetId, { type, payload, ...options }) {
      if (!schemas.has(type)) throw new TypeError(`the event type "${type}" is not defined in defineEvents`);
      // Only validated: the payload is sent as given, not as the schema's output, because readers apply the schema again.
      await check(type, payload);
      return client.sendItem(targetId, payload, { ...options, eventType: type });
    },
    async read({ eventType, payload }) {
      if (eventType === null || !schemas.has(eventType)) return undefined;
      return { type: eventType, payload: await check(eventType, payload) } as TypedEvent<Payloads>;
    },
  };
}
