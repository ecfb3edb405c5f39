import { Argument, type Command, Option } from "commander";
import type { Instant } from "../../domain/instant.ts";
import { type ObligationState, obligationStates } from "../../domain/obligation.ts";
import { finalOutcomes, openOutcomes, type Outcome } from "../../domain/outcome.ts";
import type { BulkAction, BulkResult } from "../../operator/bulk.ts";
import { type ActingOptions, acting, baseCommand, withOperator } from "../base-command.ts";
import { inertText } from "../inert-text.ts";
import { printResult } from "../output.ts";
import { zonedTime } from "../zoned-time.ts";

type Action = BulkAction["action"];

interface BulkCommandOptions extends ActingOptions {
  readonly state?: ObligationState;
  readonly tenant?: string;
  readonly effect?: string;
  readonly key?: string;
  readonly outcome?: Outcome;
  readonly type?: string;
  readonly connection?: string;
  readonly kind?: string;
  readonly since?: Instant;
  readonly reason?: string;
  readonly yes?: boolean;
}

const ofObligations = ["state", "tenant", "effect", "key", "reason"] as const;
const ofEvents = ["outcome", "type"] as const;
const ofRefreshes = ["kind"] as const;
const actions: Readonly<Record<Action, readonly (keyof BulkCommandOptions)[]>> = {
  retry: [...ofEvents, ...ofRefreshes],
  lookup: [...ofEvents, ...ofRefreshes],
  cancel: [...ofEvents, ...ofRefreshes],
  apply: [...ofObligations, ...ofRefreshes],
  reprocess: [...ofObligations, ...ofRefreshes],
  drop: [...ofObligations, ...ofEvents, "since"],
};

export function bulkCommand(): Command {
  return acting(
    baseCommand({
      name: "bulk",
      summary: "Act on many obligations, events or refreshes at once; counts them, and changes nothing, without --yes",
      details:
        "retry, lookup and cancel act on obligations (stuck ones, unless --state says otherwise), apply and reprocess on " +
        "events (held ones, unless --outcome does), drop on refreshes of a kind that nobody asks for any more. Each is audited, and refused, by itself. It may be stopped and said again.",
      examples: [
        "bulk retry --effect ship/v1 --since 2026-11-30T04:00:00Z",
        "bulk retry --effect ship/v1 --since 2026-11-30T04:00:00Z --yes --why 'the carrier is up again'",
        "bulk cancel --state uncertain --tenant acme --reason 'the season is over' --yes",
        "bulk apply --connection stripe --type charge.refunded --json",
        "bulk drop --kind customer --yes --why 'no code keeps customers any more'",
      ],
    }),
  )
    .addArgument(new Argument("<action>", "what to do to each").choices(Object.keys(actions)))
    .addOption(new Option("--state <state>", "obligations: in this state").choices(obligationStates))
    .option("--tenant <tenant>", "obligations: of this tenant")
    .option("--effect <name>", "obligations: of this effect, such as ship/v1")
    .option("--key <start>", "obligations: whose operation key starts so")
    .addOption(
      new Option("--outcome <outcome>", "events: with this outcome").choices([...openOutcomes, ...finalOutcomes]),
    )
    .option("--type <type>", "events: of this type")
    .option("--connection <id>", "of this connection")
    .option("--kind <kind>", "drop: refreshes of this kind")
    .option("--since <time>", "owed, or received, at this time or later", zonedTime)
    .option("--reason <text>", "cancel: why nothing more is owed, for the audit")
    .option("--yes", "do it, after a look at the count")
    .action(async (action: Action, options: BulkCommandOptions, command: Command) => {
      const stray = actions[action].find((name) => options[name] !== undefined);
      if (stray !== undefined) command.error(`error: option --${stray} does not fit bulk ${action}`);
      if (action === "cancel" && options.reason === undefined) command.error("error: bulk cancel needs --reason");
      if (action === "drop" && options.kind === undefined) command.error("error: bulk drop needs --kind");
      const result = await withOperator(options, (operator) => operator.bulk(requestOf(action, options)));
      const dryRun = !options.yes;
      printResult(options, { action, dryRun, ...result }, () => bulkText(action, dryRun, result));
    });
}

function requestOf(action: Action, options: BulkCommandOptions): BulkAction {
  const { state, tenant, effect, key: keyPrefix, outcome, type, connection, since, reason = "", why, yes } = options;
  const { kind = "" } = options;
  const shared = { dryRun: !yes, why };
  if (action === "drop") return { action, where: { kind, connection }, ...shared };
  if (action === "apply" || action === "reprocess") {
    return { action, where: { outcome, type, connection, since }, ...shared };
  }
  const where = { state, tenant, effect, keyPrefix, connection, since };
  return action === "cancel" ? { action, where, reason, ...shared } : { action, where, ...shared };
}

function bulkText(
  action: Action,
  dryRun: boolean,
  { matched, changed, unchanged, refused, refusals }: BulkResult,
): string {
  if (dryRun) return `${matched} fit. To ${action} them: the same with --yes`;
  const lines = refusals.map((refusal) => `  ${inertText(refusal)}`);
  const more = refused > refusals.length ? [`  and ${refused - refusals.length} more`] : [];
  return [`${changed} changed, ${unchanged} with nothing to do, ${refused} refused.`, ...lines, ...more].join("\n");
}
