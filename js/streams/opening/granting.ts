import type { Opening } from '../../bus/opening.js';
import type { Interest, TopicGrant } from '../../bus/wanted/interest.js';
import { topicsOf, withoutTopics } from '../../bus/wanted/topic.js';
import type { SubscriptionFilter } from '../../model/filter.js';

/** Lets the hooks of a bus grant or refuse the topics of one stream before it is acknowledged. */
export class Granting {
  readonly #interest: Interest | undefined;
  #grant: TopicGrant | undefined;

  /** @param interest - grants topics; undefined: every topic is granted. */
  constructor(interest: Interest | undefined) {
    this.#interest = interest;
  }

  /** Narrows a stream of a caller to what is granted. */
  async granted(opening: Opening, caller: string | undefined): Promise<Opening> {
    const { owner, stream } = opening;
    if (this.#interest === undefined) return opening;
    const honored = JSON.parse(stream.honored()) as SubscriptionFilter;
    const grant = await this.#interest.want(topicsOf(honored), caller);
    this.#grant = grant;
    if (grant.refused.length > 0)
      stream.narrow(JSON.stringify(withoutTopics(honored, grant.refused)));
    const ended: typeof owner.ended = (ended, ending) => {
      grant.release();
      owner.ended(ended, ending);
    };
    return { ...opening, owner: { ...owner, ended } };
  }

  /** Keeps the topics of a stream that was opened, until it ends. */
  keep(): void {
    this.#grant?.keep();
  }

  /** Releases the topics of a stream that was not opened. */
  release(): void {
    this.#grant?.release();
  }
}
