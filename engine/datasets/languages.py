"""Language codes: files use `de`, lists use `deu` as MTEB does (ISO 639-3)."""

import re

_ISO = (
    "aa aar af afr ak aka am amh an arg ar ara as asm av ava ay aym az aze ba bak be bel bg bul "
    "bi bis bm bam bn ben bo bod br bre bs bos ca cat ce che co cos cs ces cv chv cy cym da dan "
    "de deu dv div dz dzo ee ewe el ell en eng eo epo es spa et est eu eus fa fas ff ful fi fin "
    "fj fij fo fao fr fra fy fry ga gle gd gla gl glg gn grn gu guj gv glv ha hau he heb hi hin "
    "hr hrv ht hat hu hun hy hye ia ina id ind ig ibo is isl it ita iu iku ja jpn jv jav ka kat "
    "kg kon ki kik kk kaz kl kal km khm kn kan ko kor ks kas ku kur kw cor ky kir la lat lb ltz "
    "lg lug li lim ln lin lo lao lt lit lv lav mg mlg mi mri mk mkd ml mal mn mon mr mar ms msa "
    "mt mlt my mya nb nob ne nep nl nld nn nno no nor ny nya oc oci om orm or ori os oss pa pan "
    "pl pol ps pus pt por qu que rm roh rn run ro ron ru rus rw kin sa san sc srd sd snd se sme "
    "si sin sk slk sl slv sm smo sn sna so som sq sqi sr srp ss ssw st sot su sun sv swe sw swa "
    "ta tam te tel tg tgk th tha ti tir tk tuk tl tgl tn tsn to ton tr tur ts tso tt tat tw twi "
    "ug uig uk ukr ur urd uz uzb ve ven vi vie wa wln wo wol xh xho yi yid yo yor zh zho zu zul"
).split()
_THREE = dict(zip(_ISO[::2], _ISO[1::2], strict=True))
ENGLISH = ("eng",)
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese."""


def is_unspaced(text: str) -> bool:
    """Whether much of a text is in a script without spaces between words."""
    return 3 * len(_UNSPACED.findall(text)) > len(text)


def is_language(text: str) -> bool:
    """Whether a text is a code of two letters (`de`), perhaps with a region (`pt-br`)."""
    return text.casefold().replace("_", "-").partition("-")[0] in _THREE


def codes(*languages: str) -> tuple[str, ...]:
    """Return three-letter codes, without duplicates; unknown codes are kept, empty ones dropped."""
    short = (_THREE.get(name.casefold().partition("-")[0], name) for name in languages if name)
    return tuple(dict.fromkeys(short))
