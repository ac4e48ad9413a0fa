import type { AcceptedItem, Operations } from "./operations.generated.ts";
import { type Schema, validate } from "./standardSchema.ts";

/** An event whose payload has the type that belongs to its event type. */
export type TypedEvent<Payloads> = {
  [Type in keyof Payloads & string]: { type: Type; payload: Payloads[Type] };
}[keyof Payloads & string];

/** Event types with their payloads: sends and reads no others. */
export interface TypedEvents<Payloads> {
  /**
   * Sends an item of this type, with `X-Event-Type`.
   * @throws {SchemaError} before anything is sent, when there is a schema and the payload does not fit it.
   */
  send<Type extends keyof Payloads & string>(
    client: Pick<Operations, "sendItem">,
    targetId: string,
    item: { type: Type; payload: Payloads[Type] } & SendOptions,
  ): Promise<AcceptedItem>;
  /**
   * The received event as one of the types; undefined for another type.
   * @throws {SchemaError} when the payload does not fit its type's schema.
   */
  read(received: { eventType: string | null; payload: unknown }): Promise<TypedEvent<Payloads> | undefined>;
}

type SendOptions = Omit<NonNullable<Parameters<Operations["sendItem"]>[2]>, "eventType">;

type PayloadsOf<Schemas> = {
  [Type in keyof Schemas]: Schemas[Type] extends Schema<infer Payload> ? Payload : never;
};

/** Event types by their schemas, which are held against what is sent and what arrives. */
export function defineEvents<Schemas extends Record<string, Schema>>(
  schemas: Schemas,
): TypedEvents<PayloadsOf<Schemas>>;
/** Event types by a type alone, which the compiler holds against the code and nobody against what arrives. */
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
      if (!schemas.has(type)) throw new TypeError(`there is no event type "${type}" here`);
      // Interpreting it by the schema is left to readers.
      await check(type, payload);
      return client.sendItem(targetId, payload, { ...options, eventType: type });
    },
    async read({ eventType, payload }) {
      if (eventType === null || !schemas.has(eventType)) return undefined;
      return { type: eventType, payload: await check(eventType, payload) } as TypedEvent<Payloads>;
    },
  };
}
