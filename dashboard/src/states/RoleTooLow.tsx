import { Link } from "@tanstack/react-router";

/** Says that an action is missing or was refused because of the user's role. */
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
