/**
 * A schema of any library that implements Standard Schema 1 (Zod, Valibot, ArkType, TypeBox …): the needed part of
 * `@standard-schema/spec`, declared here to avoid a dependency.
 */
export interface Schema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** A violation of a schema; `path` is its place in the value. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A payload violates its schema; the message describes the first five violations. */
export class SchemaError extends Error {
  override name = "SchemaError";
  readonly issues: readonly SchemaIssue[];

  constructor(issues: readonly SchemaIssue[]) {
    super(`the payload does not fit its schema: ${issues.slice(0, maxNamed).map(describe).join("; ")}`);
    this.issues = issues;
  }
}

const maxNamed = 5;

/** Validates a value, and returns the schema's output. @throws {SchemaError} */
export async function validate<Output>(schema: Schema<Output>, value: unknown): Promise<Output> {
  const result = await schema["~standard"].validate(value);
  if (result.issues !== undefined) throw new SchemaError(result.issues);
  return result.value;
}

function describe({ message, path = [] }: SchemaIssue): string {
  const place = path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
  return place === "" ? message : `${place}: ${message}`;
}
