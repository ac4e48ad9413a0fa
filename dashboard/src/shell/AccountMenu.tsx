import { Menu } from "@base-ui/react/menu";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { CircleUser } from "lucide-react";
import { serviceUrl } from "../api/basePath.ts";
import { answer, client } from "../api/client.ts";
import { organizationQuery } from "../api/queries.ts";
import { meQuery } from "../api/role.ts";
import { endSession, useSession } from "../api/session.ts";
import { roleMeanings } from "../settings/RoleChoice.tsx";

const itemLook =
  "block w-full cursor-pointer rounded-control px-2 py-1.5 text-left outline-none data-highlighted:bg-sunken";

/** The signed-in user, with sign out. */
export function AccountMenu() {
  const session = useSession();
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  const me = useQuery({ ...meQuery, enabled: isOpen });
  const organization = useQuery({ ...organizationQuery, enabled: isOpen });
  const signOut = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/auth/logout")),
    onSettled: endSession,
  });
  const user = me.data?.user;
  return (
    <Menu.Root modal={false} open={isOpen} onOpenChange={(open) => setOpen(open)}>
      <Menu.Trigger
        aria-label="Account"
        title="Account"
        className="inline-flex size-8 items-center justify-center rounded-control text-muted hover:bg-sunken hover:text-ink"
      >
        <CircleUser size={16} aria-hidden />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="z-40" align="end" sideOffset={6}>
          <Menu.Popup className="w-64 rounded-card bg-surface p-1 shadow-overlay outline-none">
            <div className="grid gap-0.5 border-b px-2 py-2">
              <span className="font-medium wrap-anywhere">{session?.email}</span>
              <span className="text-meta wrap-anywhere text-muted">
                {[
                  user !== undefined && "role" in user && roleMeanings[user.role].name,
                  organization.data?.name,
                ]
                  .filter(Boolean)
                  .join(" · ")}
              </span>
            </div>
            <div className="pt-1">
              <Menu.Item className={itemLook} onClick={() => void navigate({ to: "/settings", search: {} })}>
                Settings
              </Menu.Item>
              <Menu.Item className={itemLook} render={<a href={`${serviceUrl}/docs`}>API reference</a>} />
              <Menu.Item className={itemLook} onClick={() => signOut.mutate()}>
                Sign out
              </Menu.Item>
            </div>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
