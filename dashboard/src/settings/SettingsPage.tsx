import { type ComponentType, lazy, Suspense } from "react";
import { useMay } from "../api/role.ts";
import { Tabs } from "../controls/Tabs.tsx";
import { useUrlState } from "../shell/useUrlState.ts";
import { SkeletonRows } from "../states/Loaded.tsx";
import { GeneralSettings } from "./GeneralSettings.tsx";

const MembersTab = lazy(async () => ({ default: (await import("./Members.tsx")).Members }));
const NotificationsTab = lazy(async () => ({
  default: (await import("./NotificationTargets.tsx")).NotificationTargets,
}));
const PortalTab = lazy(async () => ({ default: (await import("./PortalSettings.tsx")).PortalSettings }));
const ErasuresTab = lazy(async () => ({ default: (await import("./Erasures.tsx")).Erasures }));
const AuditLogTab = lazy(async () => ({ default: (await import("./AuditLog.tsx")).AuditLog }));

interface Tab {
  id: string;
  name: string;
  Content: ComponentType;
}

const tabs: readonly Tab[] = [
  { id: "general", name: "General", Content: GeneralSettings },
  { id: "members", name: "Members", Content: MembersTab },
  { id: "notifications", name: "Notifications", Content: NotificationsTab },
  { id: "portal", name: "Portal", Content: PortalTab },
  { id: "erasures", name: "Erasures", Content: ErasuresTab },
];
const auditLog: Tab = { id: "audit", name: "Audit", Content: AuditLogTab };

/** Settings of the organization and of the signed-in user. */
export function SettingsPage() {
  const [search] = useUrlState();
  const isAdmin = useMay("admin");
  // A link to the audit log opens the tab for every role: if the role does not allow it, the tab shows the service's error.
  const shown = isAdmin || search["tab"] === auditLog.id ? [...tabs, auditLog] : tabs;
  const { id, Content } = shown.find((tab) => tab.id === search["tab"]) ?? shown[0]!;
  return (
    <div className="mx-auto grid w-full max-w-220 gap-4">
      <h1 className="text-page font-semibold">Settings</h1>
      <Tabs tabs={shown} open={id} />
      <Suspense fallback={<SkeletonRows rows={4} />}>
        <Content />
      </Suspense>
    </div>
  );
}
