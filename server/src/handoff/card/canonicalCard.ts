type Json = unknown;
type JsonObject = Readonly<Record<string, Json>>;

/**
 * The texts that a signature over this card may cover (A2A 1.0, section 8.4.1): the card without its signatures in
 * canonical JSON. Signers disagree on which fields are present, so there are several: the card as received; without
 * empty values, which the SDKs drop before they sign; and without the other defaults of protobuf. The JavaScript
 * SDK's card handler wraps choices in its own way, which its signer does not read and leaves out.
 */
export function signedForms(document: JsonObject): string[] {
  const { signatures: _signatures, ...card } = document;
  const forms = [
    card,
    withoutEmpty(card) ?? {},
    withoutEmpty(withoutDefaults(card, "unwrap")) ?? {},
    withoutEmpty(withoutDefaults(card, "drop")) ?? {},
  ];
  return [...new Set(forms.map(canonicalJson))];
}

/** JSON in its canonical form (RFC 8785): JavaScript's own numbers and strings, members sorted by UTF-16 units. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`);
  return `{${members.join(",")}}`;
}

/** @returns undefined for a value that is empty itself. */
function withoutEmpty(value: Json): Json {
  if (value === "" || value === null) return undefined;
  if (Array.isArray(value)) {
    const elements = value.map(withoutEmpty).filter((element) => element !== undefined);
    return elements.length > 0 ? elements : undefined;
  }
  if (!isObject(value)) return value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, withoutEmpty(member)] as const)
    .filter(([, member]) => member !== undefined);
  return members.length > 0 ? Object.fromEntries(members) : undefined;
}

/** Fields that protobuf writes only when they are true. */
const falseByDefault = ["required", "pkceRequired"];

function withoutDefaults(value: Json, wrapped: "unwrap" | "drop"): Json {
  if (Array.isArray(value)) return value.map((element: Json) => withoutDefaults(element, wrapped));
  if (!isObject(value)) return value;
  const members = Object.entries(value)
    .filter(([name, member]) => !(member === false && falseByDefault.includes(name)))
    .flatMap(([name, member]) => {
      const choice = unwrap(member);
      if (choice === undefined) return [[name, withoutDefaults(member, wrapped)] as const];
      return wrapped === "drop" ? [] : [[choice[0], withoutDefaults(choice[1], wrapped)] as const];
    });
  return Object.fromEntries(members);
}

/** `{scheme: {$case: "x", value: …}}` stands for `{x: …}`. */
function unwrap(member: Json): [name: string, value: Json] | undefined {
  if (!isObject(member) || typeof member["$case"] !== "string") return undefined;
  return [member["$case"], member["value"]];
}

function isObject(value: Json): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
