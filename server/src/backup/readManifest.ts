import type { Partition, OwnTable } from "./ownTables.ts";
import type { Manifest, OwnCell, Sequence } from "./parts.ts";

type Fields = Record<string, unknown>;

/** The first line of a backup: text of a file, which anybody may have written. Undefined where it describes no backup. */
export function readManifest(line: Fields): Manifest | undefined {
  const isOurs =
    (line["format"] === 1 || line["format"] === 2) &&
    // The moment is shown as a date.
    Number.isFinite(line["created_at"]) &&
    areTexts(line["version"], line["key_fingerprint"]) &&
    isListOf(line["migrations"], isMigration) &&
    isListOf(line["tables"], isTable) &&
    (line["cells"] === undefined || isListOf(line["cells"], isCell));
  return isOurs ? (line as unknown as Manifest) : undefined;
}

/** The sequences in the last line. Undefined where they are none. */
export function readSequences(value: unknown): readonly Sequence[] | undefined {
  return isListOf(value, isSequence) ? (value as Sequence[]) : undefined;
}

function isMigration({ version, name, checksum }: Fields): boolean {
  return typeof version === "number" && areTexts(name, checksum);
}

function isTable({ name, columns, partitions }: Partial<Record<keyof OwnTable, unknown>>): boolean {
  return areTexts(name) && isListOfTexts(columns) && isListOf(partitions, isPartition);
}

function isPartition(fields: Partial<Record<keyof Partition, unknown>>): boolean {
  const { name, bounds, settings, unmeasured } = fields;
  return areTexts(name, bounds) && isListOfTexts(settings) && isListOfTexts(unmeasured);
}

function isCell({ schema, tables }: Partial<Record<keyof OwnCell, unknown>>): boolean {
  return areTexts(schema) && isListOf(tables, isTable);
}

function isSequence({ name, last }: Partial<Record<keyof Sequence, unknown>>): boolean {
  return areTexts(name) && (last === null || (typeof last === "string" && /^\d+$/.test(last)));
}

function isListOf(value: unknown, isOne: (fields: Fields) => boolean): boolean {
  if (!Array.isArray(value)) return false;
  return (value as unknown[]).every((one) => typeof one === "object" && one !== null && isOne(one as Fields));
}

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && areTexts(...(value as unknown[]));
}

function areTexts(...values: unknown[]): boolean {
  return values.every((value) => typeof value === "string");
}
