"""What MTEB's own tasks set for themselves, where it differs from MTEB's usual setting.

Source: embeddings-benchmark/mteb 2.26.24, mteb/tasks: `samples_per_label` of the classes of text
classification, and those of retrieval with `ignore_identical_ids`. Names of tasks that are plain
words (such as StyleClassification) are left out: a data set of that name need not be MTEB's.
"""

import re

USUAL_SHOTS = 8

_SHOTS = {
    16: "angrytweets czechproductreviewsentiment czechsomesentiment dalaj danishpoliticalcomments "
    "dkhate emotion estonianvalence humeemotion humetoxicconversations lccsentiment "
    "toxicconversations",
    20: "csfdczmoviereviewsentiment csfdskmoviereviewsentiment",
    32: "afrisentilang amazoncounterfactual deepsentipers digikalamag dutchgovernmentbias faintent "
    "humetweetsentimentextraction iconclass iflytek jdreview nlptwitteranalysis nordiclang "
    "onlineshopping pershopdomain pershopintent persiantextemotion sentimentdksf "
    "synperchatbotconvsaanger synperchatbotconvsafear synperchatbotconvsafriendship "
    "synperchatbotconvsahappiness synperchatbotconvsajealousy synperchatbotconvsalove "
    "synperchatbotconvsasadness synperchatbotconvsasatisfaction synperchatbotconvsasurprise "
    "synperchatbotconvsatonechatbot synperchatbotconvsatoneuser synperchatbotragtonechatbot "
    "synperchatbotragtoneuser synperchatbotsatisfactionlevel synperchatbottonechatbot "
    "synperchatbottoneuser synpertexttone tnews tweetsentimentextraction yahooanswerstopics "
    "yueopenricereview",
    128: "dutchcola yelpreviewfull",
}
_BY_NAME = {name: shots for shots, names in _SHOTS.items() for name in names.split()}
_OWN_IDS = frozenset(
    "arguana arguanafa arguananl arguanapl bbsardnl bsard feedbackqa fever feverfa fevernl fiqa "
    "fiqa2018 fiqa2018fa fiqa2018nl fiqadecontaminated fiqapl jacwir jagovfaqs legalqanl "
    "mlquestions mmarconl mmarcoretrievalmultilingual msmarco msmarcofa msmarcopl "
    "nlpjournalabsarticle persianwebdocument quora quoranl quoraretrievaldecontaminated "
    "quoraretrievalfa rianews rubq ruscibenchcite ruscibenchcocite synperchatbotragfaq "
    "synperchatbotragtopics synperchatbottopics synperqa trecdl2019 trecdl2020".split()
)
_SUFFIX = re.compile(r"(classification|retrieval|hardnegatives)*(v\d)?$")


def _names(dataset: str) -> set[str]:
    """Return the parts of a data set's name, as the names above are written."""
    parts = ("".join(filter(str.isalnum, part)) for part in re.split("[/:@?]", dataset.casefold()))
    return {_SUFFIX.sub("", part) for part in parts}


def shots(dataset: str) -> int:
    """Return the number of sentences per label that MTEB's task on a data set learns from.

    Args:
        dataset: the name of a data set, or of a task of MTEB's.
    """
    return max((_BY_NAME.get(name, 0) for name in _names(dataset)), default=0) or USUAL_SHOTS


def leaves_out_own_ids(dataset: str) -> bool:
    """Whether MTEB's task on a data set leaves the document with a query's id out of its ranking.

    Args:
        dataset: the name of a data set, or of a task of MTEB's.
    """
    return not _OWN_IDS.isdisjoint(_names(dataset))
