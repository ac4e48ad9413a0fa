import type { EventType, EventTypeInput } from "../api/shapes.ts";
import { Checkbox } from "../controls/Checkbox.tsx";
import { CodeArea, TextArea, TextField } from "../controls/Field.tsx";
import { jsonOf, jsonProblem, jsonText, objectProblem } from "./jsonText.ts";

/** An event type's fields, as texts of a form. */
export interface EventTypeDraft {
  description: string;
  group: string;
  deprecated: boolean;
  schema: string;
  example: string;
}

export const emptyDraft: EventTypeDraft = {
  description: "",
  group: "",
  deprecated: false,
  schema: "",
  example: "",
};

export function draftOf({ description, group, deprecated, schema, example }: EventType): EventTypeDraft {
  return { description, group, deprecated, schema: jsonText(schema), example: jsonText(example) };
}

export function isDraftReady({ schema, example }: EventTypeDraft): boolean {
  return objectProblem(schema) === undefined && exampleProblem(example) === undefined;
}

function exampleProblem(text: string): string | undefined {
  return jsonProblem(text, { numbers: "kept" });
}

/** The request body of a valid draft. */
export function inputOf({ description, group, deprecated, schema, example }: EventTypeDraft): EventTypeInput {
  return {
    description,
    group: group.trim(),
    deprecated,
    schema: jsonOf(schema) as Record<string, unknown> | null,
    example: jsonOf(example),
  };
}

interface EventTypeFieldsProps {
  draft: EventTypeDraft;
  onChange: (draft: EventTypeDraft) => void;
}

export function EventTypeFields({ draft, onChange }: EventTypeFieldsProps) {
  const field = (name: Exclude<keyof EventTypeDraft, "deprecated">) => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) => onChange({ ...draft, [name]: event.target.value }),
  });
  return (
    <>
      <TextArea
        label="Description"
        rows={2}
        maxLength={4096}
        hint="Meaning of the event"
        {...field("description")}
      />
      <TextField
        label="Group"
        maxLength={128}
        autoComplete="off"
        hint="Heading to list it under, such as Orders (optional)"
        {...field("group")}
      />
      <Checkbox
        text="Deprecated"
        isChecked={draft.deprecated}
        onChange={(deprecated) => onChange({ ...draft, deprecated })}
      />
      <CodeArea
        label="Schema"
        rows={6}
        error={objectProblem(draft.schema)}
        hint="A JSON Schema of the payload, up to 64 KiB (optional)"
        {...field("schema")}
      />
      <CodeArea
        label="Example"
        error={exampleProblem(draft.example)}
        hint="A sample payload, as JSON (optional)"
        {...field("example")}
      />
    </>
  );
}
