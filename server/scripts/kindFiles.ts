import { handoffKinds, kindNumbers, pulledKinds, targetKinds } from "../src/postgres/kinds.ts";

/** The text of `sql/kinds.generated.sql`: the numbers and traits of kinds as SQL functions. */
export function kindsSql(): string {
  const cases = Object.entries(kindNumbers).map(([name, number]) => `when '${name}' then ${number}`);
  return `-- Generated from postgres/kinds.ts by \`npm run generated\`. All functions depend only on their parameter, so
-- that the planner inlines them.

-- The number of a kind in events.kind and deliveries.kind.
create function kind_number(p_kind text)
returns smallint language sql immutable as $$
  select (case p_kind ${cases.join(" ")} end)::smallint
$$;

-- Whether consumers claim items of this kind; items of other kinds are delivered.
create function is_pulled(p_kind smallint)
returns boolean language sql immutable as $$
  select p_kind in (${pulledKinds.join(", ")})
$$;

-- All kinds for which is_pulled returns true.
create function pulled_kinds()
returns smallint[] language sql immutable as $$
  select '{${pulledKinds.join(", ")}}'::smallint[]
$$;

-- Whether an item of this kind becomes a task of an agent, which is followed to its end. Such targets get no items that the
-- service creates (operational events, results of tasks), so that two agents cannot trigger each other endlessly.
create function is_handoff(p_kind smallint)
returns boolean language sql immutable as $$
  select p_kind in (${handoffKinds.join(", ")})
$$;
`;
}

/** The dashboard's list of kinds: imports each kind's value from the file with the kind's name. */
export function kindsOfDashboard(): string {
  const imports = targetKinds.toSorted().map((name) => `import { ${name} } from "./${name}.tsx";`);
  return `// Generated from server/src/postgres/kinds.ts by \`npm run generated\`: each kind's value from the file of its name.
import type { Target } from "../../api/shapes.ts";
import type { Kind } from "./kind.ts";
${imports.join("\n")}

export const kindsByName: Record<Target["kind"], Kind> = { ${targetKinds.join(", ")} };
`;
}

/** The list of kinds for the command line. */
export function kindsOfCommand(): string {
  const names = targetKinds.map((name) => `"${name}"`).join(", ");
  return `// Generated from server/src/postgres/kinds.ts by \`npm run generated\`.
import type { Target } from "../../../sdk/src/client.ts";

export const targetKindNames: readonly Target["kind"][] = [${names}];
`;
}
