import { type Static, type TObject, type TSchema, type TString, Type } from "typebox";
import { textOf } from "./textForms.ts";

/** 32 lower-case hex characters. Parameters of paths may be any text, because an unknown id is a 404 and not a 400. */
export const Id = textOf("id", { examples: ["0192f3a4b5c67d8e9fa0b1c2d3e4f506"] });

/** Unix seconds. */
export const Timestamp = Type.Integer({ description: "Unix seconds" });

/** The last second of the year 9999, in Unix seconds. */
export const latestMoment = 253_402_300_799;

/** A time in a request, in Unix seconds. */
export const Moment = Type.Integer({ minimum: 0, maximum: latestMoment });

/** The schema, or null. */
export function nullable<Schema extends TSchema>(schema: Schema, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

export function nullableString(description: string) {
  return nullable(Type.String(), description);
}

export function nullableInteger(description: string) {
  return nullable(Type.Integer(), description);
}

export function oneOf<const Word extends string>(words: readonly Word[], description?: string) {
  return Type.Unsafe<Word>({
    type: "string",
    enum: [...words],
    ...(description !== undefined && { description }),
  });
}

/** The schema with another description. */
export function described<Schema extends TSchema>(schema: Schema, description: string) {
  return Type.Unsafe<Static<Schema>>({ ...schema, description });
}

export const NullableString = nullable(Type.String());

export const ErrorBody = Type.Object({ error: Type.String() }, { title: "Error" });

export const Deleted = Type.Object({ deleted: Type.Literal(true) }, { title: "Deleted" });

/** An id as a keyset pagination cursor. A malformed id is a 400, unlike in a path: it would look like the end of the list. */
export function pageCursor(description: string): TString {
  return textOf("id", { description });
}

/** The query of a list that is paged backwards by id. @param things the noun for the listed objects, in the plural. */
export function pageBefore(things: string) {
  return Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
    before: Type.Optional(pageCursor(`Only ${things} older than the one with this id`)),
  });
}

/** The query of a list by name. @param Name the schema of a name. @param words the nouns for a name and for a listed object. */
export function pageByName(Name: TString, [name, thing]: readonly [name: string, thing: string]) {
  return {
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
    after: Type.Optional(described(Name, `The ${name} of the last ${thing} of the previous page`)),
    prefix: Type.Optional(described(Name, `Only ${thing}s whose ${name} begins with this`)),
  };
}

/** A body that may be absent. */
export function optionalBody<P extends Record<string, TSchema>>(properties: P) {
  return nullable(Type.Object(properties));
}

/** The values of the fields that a schema names; null for missing ones. Other fields are left out. */
export function fieldsOf<Schema extends TObject>({ properties }: Schema, values: object): Static<Schema> {
  const given = values as Record<string, unknown>;
  const fields = Object.keys(properties).map((name) => [name, given[name] ?? null]);
  return Object.fromEntries(fields) as Static<Schema>;
}
