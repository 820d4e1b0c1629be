/** Scopes of operators and their machines: live credentials of the default customer hold them. */
export const installationScopes: readonly (readonly [name: string, meaning: string])[] = [
  ['admin', 'includes every scope, and administers all customers'],
  ['metrics:read', 'reads the metrics of the nodes: Prometheus'],
  ['audit:read', 'reads the audit trail: an archive'],
  ['keys:verify_all', 'verifies keys and tokens of every customer: a gateway'],
]

export const isInstallationScope = (scope: string): boolean =>
  installationScopes.some(([name]) => name === scope)
