import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { answer, client } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import type { NewTarget, Target } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Form, TextField } from "../controls/Field.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import type { Choice, ChoiceFieldsProps, ChoiceTexts } from "./kinds/kind.ts";
import { kinds } from "./kinds/kinds.ts";
import { OwnFields, type OwnInputs } from "./OwnFields.tsx";

const choices: readonly Choice[] = kinds.flatMap((kind) => kind.choices);

/** The key of the mutation that creates a target. */
export const creationKey = ["newTarget"];

interface Inputs {
  texts: ChoiceTexts;
  own: OwnInputs;
}

/**
 * Creates a target: first its destination, then the fields for that. The service's error is shown beside the field that it
 * concerns.
 */
export function CreateTarget({
  choice: initial,
  customerUid = "",
  onTyped,
  onMade,
}: {
  choice?: string | undefined;
  /** The initial value of the customer field. */
  customerUid?: string | undefined;
  /** Called when a field is changed. */
  onTyped?: () => void;
  onMade: (target: Target) => void;
}) {
  const [chosen, setChosen] = useState(initial);
  const choice = choices.find(({ id }) => id === chosen) ?? choices[0]!;
  const [inputs, setInputs] = useState<Inputs>({ texts: {}, own: { customerUid, uid: "", secret: "" } });
  const queries = useQueryClient();
  const create = useMutation({
    mutationKey: creationKey,
    mutationFn: () => answer(client.POST("/api/v1/targets", { body: newTarget(choice, inputs) })),
    onSuccess: (target) => {
      void queries.invalidateQueries({ queryKey: ["targets"] });
      const { secret, ...rest } = target;
      // A secret that the user typed is not shown again.
      onMade(secret === undefined || secret === inputs.own.secret.trim() ? rest : target);
    },
  });
  const refused = fieldOf(create.error, [...commonFields, ...choice.fieldNames(inputs.texts)]);
  return (
    <Form onSubmit={() => create.mutate()}>
      <KindChoice
        choice={choice}
        onChange={(id) => {
          setChosen(id);
          create.reset();
        }}
      />
      <Fields
        choice={choice}
        inputs={inputs}
        errorOf={(name) => (refused === name ? (create.error as Problem).message : undefined)}
        onChange={(changes) => {
          setInputs({ ...inputs, ...changes });
          onTyped?.();
        }}
      />
      {create.isError && refused === undefined && <ProblemCard error={create.error} />}
      <div>
        <Button type="submit" look="primary" busy={create.isPending}>
          Create target
        </Button>
      </div>
    </Form>
  );
}

function newTarget(choice: Choice, { texts, own }: Inputs): NewTarget {
  const request = choice.request(texts);
  const [uid, customer, secret] = [own.uid.trim(), own.customerUid.trim(), own.secret.trim()];
  return {
    ...request,
    name: texts["name"]?.trim() || request.name,
    ...(uid !== "" && { uid }),
    ...(customer !== "" && { customer_uid: customer }),
    ...(choice.takesSecret && secret !== "" && { secret }),
  };
}

const commonFields: readonly string[] = ["name", "customer_uid", "uid", "secret"];

/**
 * The field that an error concerns: the service's error begins with the field's name. If two names fit, the longer one
 * counts.
 */
function fieldOf(error: unknown, names: readonly string[]): string | undefined {
  if (error instanceof Problem && error.code === "origin_unconfirmed") return "confirm_origin";
  if (!(error instanceof Problem) || (error.status !== 400 && error.code !== "uid_taken")) return undefined;
  const sentence = error.message.replace(/^body\//, "");
  const fitting = names.filter(
    (name) => sentence.startsWith(name) && !/^\w/.test(sentence.slice(name.length)),
  );
  return fitting.toSorted((one, other) => other.length - one.length)[0];
}

function KindChoice({ choice, onChange }: { choice: Choice; onChange: (id: string) => void }) {
  return (
    <fieldset className="grid gap-2 md:auto-rows-fr md:grid-cols-2">
      <legend className="mb-2 font-medium">Destination</legend>
      {choices.map(({ id, name, detail, icon: Icon }) => (
        <label
          key={id}
          className="flex cursor-pointer gap-2.5 rounded-card border p-3 has-checked:border-accent has-checked:bg-sunken has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name="kind"
            className="sr-only"
            checked={id === choice.id}
            onChange={() => onChange(id)}
          />
          <Icon size={16} className="mt-0.5 shrink-0" aria-hidden />
          <span className="grid content-start">
            <span className="font-medium">{name}</span>
            <span className="text-meta text-muted">{detail}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface FieldsProps {
  choice: Choice;
  inputs: Inputs;
  errorOf: (name: string) => string | undefined;
  onChange: (changes: Partial<Inputs>) => void;
}

function Fields({ choice, inputs: { texts, own }, errorOf, onChange }: FieldsProps) {
  const field: ChoiceFieldsProps["field"] = (name, alsoRefusedAs = name) => ({
    value: texts[name] ?? "",
    error: errorOf(name) ?? errorOf(alsoRefusedAs),
    onChange: (event) => onChange({ texts: { ...texts, [name]: event.target.value } }),
  });
  return (
    <>
      <Suspense fallback={<div className="skeleton h-40" />}>
        {choice.Fields !== undefined && <choice.Fields texts={texts} field={field} />}
      </Suspense>
      <TextField
        label="Display name (optional)"
        maxLength={256}
        placeholder={choice.placeholder}
        hint="Can be changed later"
        {...field("name")}
      />
      <OwnFields
        own={own}
        takesSecret={choice.takesSecret}
        errorOf={errorOf}
        onChange={(changed) => onChange({ own: changed })}
      />
    </>
  );
}
