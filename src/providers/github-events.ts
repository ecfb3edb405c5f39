interface GithubRepository {
  readonly id: number;
  readonly full_name: string;
  readonly private: boolean;
}
interface GithubUser {
  readonly id: number;
  readonly login: string;
}
interface FromRepository {
  readonly repository: GithubRepository;
  readonly sender: GithubUser;
  readonly installation?: { readonly id: number };
}

/** Commits were pushed to a branch or tag. */
export interface GithubPush extends FromRepository {
  readonly ref: string;
  readonly before: string;
  readonly after: string;
  readonly created: boolean;
  readonly deleted: boolean;
  readonly forced: boolean;
  readonly commits: readonly { readonly id: string; readonly message: string }[];
}

/** Something happened to a pull request; `action` says what. */
export interface GithubPullRequest extends FromRepository {
  readonly action: string;
  readonly number: number;
  readonly pull_request: {
    readonly id: number;
    readonly number: number;
    readonly state: "open" | "closed";
    readonly title: string;
    readonly draft?: boolean;
    readonly merged: boolean | null;
    readonly updated_at: string;
    readonly head: { readonly ref: string; readonly sha: string };
    readonly base: { readonly ref: string; readonly sha: string };
  };
}

/** Something happened to an issue; `action` says what. */
export interface GithubIssues extends FromRepository {
  readonly action: string;
  readonly issue: {
    readonly id: number;
    readonly number: number;
    readonly state: "open" | "closed";
    readonly title: string;
    readonly updated_at: string;
  };
}

/** Sent when a webhook is made: an ordinary signed event that nobody has to map. */
export interface GithubPing {
  readonly zen: string;
  readonly hook_id: number;
}

/** `event.data`, which is the whole body, by event type. The fields that handlers most often read. */
export interface GithubEvents {
  readonly push: GithubPush;
  readonly pull_request: GithubPullRequest;
  readonly issues: GithubIssues;
  readonly ping: GithubPing;
}
