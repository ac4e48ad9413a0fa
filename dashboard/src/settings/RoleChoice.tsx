import type { Role } from "../api/shapes.ts";
import { Options } from "../controls/Field.tsx";

export const roleMeanings: Record<Role, { name: string; may: string }> = {
  viewer: { name: "Viewer", may: "Reads" },
  member: { name: "Member", may: "Works with targets, items, mailboxes and handoffs" },
  admin: { name: "Admin", may: "Everything, including keys, members and payment" },
};

const roles = Object.keys(roleMeanings) as Role[];

/** The roles, for a select. */
export const roleOptions = roles.map((role) => [role, roleMeanings[role].name] as const);

interface RoleChoiceProps {
  label: string;
  role: Role;
  field: React.Ref<HTMLSelectElement>;
  onChange: (role: Role) => void;
}

/** A select of the three roles. Its tooltip says what the selected role may do. */
export function RoleChoice({ label, role, field, onChange }: RoleChoiceProps) {
  return (
    <select
      ref={field}
      aria-label={label}
      title={roleMeanings[role].may}
      className="h-8 rounded-control border border-control bg-surface px-2"
      value={role}
      onChange={(event) => onChange(event.target.value as Role)}
    >
      <Options of={roleOptions} />
    </select>
  );
}
