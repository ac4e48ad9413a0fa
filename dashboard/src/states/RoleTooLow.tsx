import { Link } from "@tanstack/react-router";

/** Why something is not offered, or was refused. */
export function RoleTooLow() {
  return (
    <p>
      Your role does not allow this; an admin of the organization can change it.{" "}
      <Link to="/settings" search={{ tab: "members" }} className="underline">
        See members
      </Link>
    </p>
  );
}
